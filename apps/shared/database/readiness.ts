import { readdirSync } from 'node:fs';
import type { ClientBase } from 'pg';
import { packagePath } from '../config/package-root.ts';
import { errorCode } from '../error-code.ts';

/** What of pg is needed: a client, or a pool. */
type Queries = Pick<ClientBase, 'query'>;

const APPLIED =
  'SELECT migration_name AS name FROM "_prisma_migrations" WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL';
/** Codes that PostgreSQL answers with, and what a process that meets them lacks. */
const PROBLEMS: Readonly<Record<string, string>> = {
  '42P01': 'the database has no tables of Countersign; run `countersign migrate`',
  '3D000': 'there is no such database; create it, and run `countersign migrate`',
  '28P01': 'the database refuses the password of DATABASE_URL',
  '28000': 'the database refuses the login of DATABASE_URL',
  '42501':
    'the login of DATABASE_URL may not take on the role of this process: run `countersign migrate` as the owner, then grant the login the role',
  '22023': 'the role of this process is missing in the database; run `countersign migrate` as the owner',
};

let known: readonly string[] | undefined;

/** Names of the migrations that this version comes with. */
function ownMigrations(): readonly string[] {
  known ??= readdirSync(packagePath('prisma', 'migrations'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
  return known;
}

/**
 * Why a process cannot work on this database now, with the next step; undefined when it can. It has to answer, to let the process take on
 * its role, and to be of exactly this version: functions of another version may do something else under the same name.
 */
export async function databaseProblem(database: Queries): Promise<string | undefined> {
  try {
    const { rows } = await database.query<{ name: string }>(APPLIED);
    return versionProblem(rows.map(({ name }) => name));
  } catch (error) {
    return problemBehind(error);
  }
}

/** What an error of a connection or a query says of the database. */
export const problemBehind = (error: unknown): string =>
  PROBLEMS[errorCode(error) ?? ''] ?? 'the database does not answer';

/** The same, as probes want it. */
export async function databaseProblems(database: Queries): Promise<readonly string[]> {
  const problem = await databaseProblem(database);
  return problem === undefined ? [] : [problem];
}

function versionProblem(applied: readonly string[]): string | undefined {
  const missing = ownMigrations().filter((name) => !applied.includes(name));
  if (missing.length > 0)
    return `the database is of an older version: ${missing.length} migrations are missing; run \`countersign migrate\``;
  const unknown = applied.filter((name) => !ownMigrations().includes(name));
  if (unknown.length > 0) return `the database is of a newer version (${unknown.join(', ')}); update this process`;
  return undefined;
}

/** Whether such a problem ends by itself, when the server is there. */
export const isPassing = (problem: string): boolean => problem === 'the database does not answer';

/** Roles or rights that are missing, as after a restore into another server: the backup of a database has neither. */
export const MISSING_RIGHTS = `
  SELECT role FROM (VALUES ('countersign_enforcement', 'gateway'), ('countersign_pdp', 'pdp'), ('countersign_approvals', 'approvals'),
      ('countersign_auditor', 'gateway'), ('countersign_auditor', 'audit')) AS needed (role, schema)
    WHERE CASE WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = role)
      THEN NOT has_schema_privilege(role, schema, 'USAGE') ELSE true END`;

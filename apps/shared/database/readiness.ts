import { packagePath } from '../config/files.ts';
import { errorCode } from '../lifecycle.ts';
import {
  differingFunctions,
  inBrief,
  type Queries,
  readMigrations,
  readProgram,
  type SchemaFile,
} from './functions.ts';

const APPLIED =
  'SELECT migration_name AS name FROM "_prisma_migrations" WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL';
/** PostgreSQL's error codes, each with the problem and its next step. */
const PROBLEMS: Readonly<Record<string, string>> = {
  '42P01': 'the database has no tables of Countersign; run `countersign migrate`',
  '3D000': 'the database does not exist; create it, and run `countersign migrate`',
  '28P01': 'the database refuses the password of DATABASE_URL',
  '28000': 'the database refuses the login of DATABASE_URL',
  '42501':
    'the login of DATABASE_URL may not take on the role of this process: run `countersign migrate` as the owner, then grant the login the role',
  '22023': 'the role of this process is missing in the database; run `countersign migrate` as the owner',
};

let known: { readonly migrations: readonly string[]; readonly program: readonly SchemaFile[] } | undefined;

/** The migrations and functions of this version, read once. */
function ownVersion() {
  const folder = packagePath('prisma');
  known ??= { migrations: readMigrations(folder).map(({ name }) => name), program: readProgram(folder) };
  return known;
}

/**
 * Why a process cannot use this database now, with the next step; undefined when it can. The database has to answer, to let the process
 * take on its role, and to be of exactly this version: functions of another version may behave differently under the same name.
 */
export async function databaseProblem(database: Queries): Promise<string | undefined> {
  try {
    const { rows } = await database.query<{ name: string }>(APPLIED);
    return (
      migrationsProblem(rows.map(({ name }) => name)) ??
      functionsProblem(await differingFunctions(database, ownVersion().program))
    );
  } catch (error) {
    return problemBehind(error);
  }
}

/** The problem of the database behind an error of a connection or a query. */
export const problemBehind = (error: unknown): string =>
  PROBLEMS[errorCode(error) ?? ''] ?? 'the database does not answer';

/** `databaseProblem` as a list, for probes. */
export async function databaseProblems(database: Queries): Promise<readonly string[]> {
  const problem = await databaseProblem(database);
  return problem === undefined ? [] : [problem];
}

function migrationsProblem(applied: readonly string[]): string | undefined {
  const { migrations } = ownVersion();
  const missing = migrations.filter((name) => !applied.includes(name));
  if (missing.length > 0)
    return `the database is of an older version: ${missing.length} migrations are missing; run \`countersign migrate\``;
  const unknown = applied.filter((name) => !migrations.includes(name));
  if (unknown.length > 0) return `the database is of a newer version (${unknown.join(', ')}); update this process`;
  return undefined;
}

function functionsProblem(differing: readonly string[]): string | undefined {
  if (differing.length === 0) return undefined;
  const which = inBrief(differing);
  return `the functions of the database are of another version (${which}); run \`countersign migrate\`, or update this process`;
}

/** Whether the problem may end without an operator. */
export const isPassing = (problem: string): boolean => problem === 'the database does not answer';

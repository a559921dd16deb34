import { isDatabaseAway } from '../../../workflows/domain/errors.ts';
import { packagePath } from '../config/files.ts';
import { errorCode } from '../lifecycle.ts';
import type { Need } from '../needs.ts';
import { POOLED } from './pooler.ts';
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
/** After a failover, the earlier primary may still answer, and accept no changes. */
const STANDING = `
  SELECT pg_is_in_recovery() AS is_standby, current_setting('transaction_read_only') = 'on' AS is_read_only`;
/** PostgreSQL's error codes, each with the problem and its next step. */
const PROBLEMS: Readonly<Record<string, string>> = {
  '42P01': 'the database has no tables of Countersign; run `countersign migrate`',
  '3D000': 'the database does not exist; create it, and run `countersign migrate`',
  '28P01': 'the database refuses the password of DATABASE_URL',
  '28000': 'the database refuses the login of DATABASE_URL',
  '42501':
    'the login of DATABASE_URL may not take on the role of this process: run `countersign migrate` as the owner, then grant the login the role',
  // Of poolers, for a setting at the start of a connection that they cannot pass on.
  '08P01': `the address of the database ${POOLED}`,
  '22023': 'the role of this process is missing in the database; run `countersign migrate` as the owner',
};

let known: { readonly migrations: readonly string[]; readonly program: readonly SchemaFile[] } | undefined;

/** The migrations and functions of this version, read once. */
function ownVersion() {
  const folder = packagePath('prisma');
  known ??= { migrations: readMigrations(folder).map(({ name }) => name), program: readProgram(folder) };
  return known;
}

/** What a process does with the database. */
export interface Use {
  /** Whether it only reads. Then a server that accepts no changes is no problem. Default: no. */
  readonly onlyReads?: boolean;
}

/** Why this server is not the one to use, as a predicate with the next step: a standby has old data, and others may accept no changes. */
export async function notThePrimary(database: Queries, { onlyReads = false }: Use): Promise<string | undefined> {
  const { rows } = await database.query<{ is_standby: boolean; is_read_only: boolean }>(STANDING);
  if (rows[0]?.is_standby !== false) return 'is a standby; connect to the primary';
  if (onlyReads || !rows[0].is_read_only) return undefined;
  return 'is read-only; connect to the primary, or let it accept changes (default_transaction_read_only)';
}

/**
 * Why a process cannot use this database now, with the next step; undefined when it can. The database has to answer, to accept changes, to
 * let the process take on its role, and to be of exactly this version: functions of another version may behave differently under the same
 * name.
 */
export async function databaseProblem(database: Queries, use: Use = {}): Promise<string | undefined> {
  try {
    const standing = await notThePrimary(database, use);
    if (standing !== undefined) return `the database ${standing}`;
    const { rows } = await database.query<{ name: string }>(APPLIED);
    return (
      migrationsProblem(rows.map(({ name }) => name)) ??
      functionsProblem(await differingFunctions(database, ownVersion().program))
    );
  } catch (error) {
    return problemBehind(error);
  }
}

/** The problem of the database behind an error of a connection or a query. A pool names an unfit server itself. */
export const problemBehind = (error: unknown): string =>
  isDatabaseAway(error) ? error.message : (PROBLEMS[errorCode(error) ?? ''] ?? 'the database does not answer');

/** The need for this database. */
export const databaseNeed = (database: Queries, use?: Use): Need => ({
  alarm: 'database_unusable',
  isVital: true,
  problem: () => databaseProblem(database, use),
});

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

import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { packagePath } from '../config/files.ts';
import { errorCode } from '../lifecycle.ts';
import type { Limits } from '../limits.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { withClient } from './client.ts';
import { isPooledByTransaction, POOLED } from './pooler.ts';
import {
  applyFunctions,
  differingFunctions,
  lacksRights,
  readMigrations,
  readProgram,
  renewRights,
  runScript,
  type SchemaFile,
} from './functions.ts';

/** The advisory lock that Prisma's own engine takes, so that the two never migrate at the same time. */
const PRISMA_LOCK = 72_707_369;
const UNDEFINED_TABLE = '42P01';
const NO_TRANSACTION = /^--\s*migrate:no-transaction\b/m;

const RECORDS = `CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
  "id"                  VARCHAR(36) PRIMARY KEY NOT NULL,
  "checksum"            VARCHAR(64) NOT NULL,
  "finished_at"         TIMESTAMPTZ,
  "migration_name"      VARCHAR(255) NOT NULL,
  "logs"                TEXT,
  "rolled_back_at"      TIMESTAMPTZ,
  "started_at"          TIMESTAMPTZ NOT NULL DEFAULT now(),
  "applied_steps_count" INTEGER NOT NULL DEFAULT 0
)`;

const READ_RECORDS = `SELECT migration_name, checksum, finished_at FROM "_prisma_migrations"
  WHERE rolled_back_at IS NULL ORDER BY started_at`;

interface MigrationRecord {
  readonly migration_name: string;
  readonly checksum: string;
  readonly finished_at: Date | null;
}

/**
 * Brings a database to the version in `folder`. First it applies the missing migrations (`migrations/`, in Prisma's layout), with the
 * records and the lock of `prisma migrate`, so that both accept each other's work. Each migration and its record are one transaction, unless
 * the script has a line `-- migrate:no-transaction`. Then it applies the functions and rights of this version (`functions/`, `rights.sql`),
 * in one transaction, unless a newer version has migrated the database. Several processes may do this at once: one works, the others wait.
 *
 * Throws, with the database unchanged, when an applied migration has been edited since, or is recorded as failed. Also throws when a
 * migration or a function fails now; the migrations before it stay applied.
 */
export async function migrate(databaseUrl: string, limits: Limits, folder = packagePath('prisma')) {
  const migrations = readMigrations(folder);
  // The lock would stay behind with the session that the pooler keeps.
  if (await isPooledByTransaction({ connectionString: databaseUrl }))
    throw new CountersignError('ERR_DATABASE_UNAVAILABLE', `the address of the database ${POOLED}`);
  return onSession(databaseUrl, async (client) => {
    await lock(client, limits);
    await client.query(RECORDS);
    const { failed, edited, missing, unknown } = compare(await readRecords(client), migrations);
    refuse(failed, edited);
    for (const migration of migrations) if (missing.includes(migration.name)) await apply(client, migration);
    return {
      /** Names of the migrations that this run applied, in order. */
      applied: missing,
      unknown,
      ...(await applyProgram(client, folder, unknown)),
    };
  });
}

function compare(rows: readonly MigrationRecord[], migrations: readonly SchemaFile[]) {
  const records = new Map(rows.map((row) => [row.migration_name, row]));
  const known = new Map(migrations.map(({ name, checksum }) => [name, checksum]));
  const names = [...records.keys()];
  return {
    applied: names.filter((name) => known.has(name) && records.get(name)?.finished_at),
    missing: [...known.keys()].filter((name) => !records.has(name)),
    /** Applied, and the file has changed since. */
    edited: names.filter((name) => known.has(name) && known.get(name) !== records.get(name)?.checksum),
    /** Begun, but not finished. */
    failed: rows.filter((row) => row.finished_at === null).map((row) => row.migration_name),
    /** Applied by a newer version. */
    unknown: names.filter((name) => !known.has(name)),
  };
}

const readRecords = async (client: Client) => (await client.query<MigrationRecord>(READ_RECORDS)).rows;

/** Closing the connection also releases the migration lock, which belongs to the session. */
const onSession = <T>(connectionString: string, work: (client: Client) => Promise<T>): Promise<T> =>
  withClient({ connectionString, application_name: 'countersign migrate' }, work);

/** Applies functions and rights. Those of a newer version fit its tables, and stay as they are. */
async function applyProgram(client: Client, folder: string, unknown: readonly string[]) {
  if (unknown.length > 0) return { functions: [], renewedRights: false };
  const files = readProgram(folder);
  /** Functions (and `rights`) that this run made, replaced or dropped. */
  const functions = await applyFunctions(client, files);
  /** Whether only roles or rights were missing, and were granted again. */
  const renewedRights = functions.length === 0 && (await renewRights(client, files));
  return { functions, renewedRights };
}

/** The state of the database. Changes no data and takes no lock. */
export async function migrationStatus(databaseUrl: string, folder = packagePath('prisma')) {
  return onSession(databaseUrl, async (client) => {
    const { rows: tables } = await client.query(`SELECT 1 WHERE to_regclass('"_prisma_migrations"') IS NOT NULL`);
    const found = compare(tables.length === 0 ? [] : await readRecords(client), readMigrations(folder));
    const { missing, unknown } = found;
    const files = readProgram(folder);
    /** Functions (and `rights`) that differ from this version. Empty where migrations are missing or unknown. */
    const functions = missing.length + unknown.length === 0 ? await functionsOtherThan(client, files) : [];
    /** Whether only roles or rights are missing: the database was restored into another server. */
    const isLackingRights = missing.length === 0 && functions.length === 0 && (await lacksRights(client, files));
    return { ...found, functions, lacksRights: isLackingRights };
  });
}

/** The functions that differ; all of them where none was ever applied. */
async function functionsOtherThan(client: Client, files: readonly SchemaFile[]): Promise<string[]> {
  try {
    return await differingFunctions(client, files);
  } catch (error) {
    if (errorCode(error) !== UNDEFINED_TABLE) throw error;
    return files.map(({ name }) => name);
  }
}

async function lock(client: Client, { migrationLockMs }: Limits): Promise<void> {
  try {
    await client.query(`SET lock_timeout = ${migrationLockMs}`);
    await client.query('SELECT pg_advisory_lock($1)', [PRISMA_LOCK]);
    await client.query('SET lock_timeout = 0');
  } catch (error) {
    if (errorCode(error) !== '55P03') throw error;
    throw new Error(
      `another process has been migrating this database for ${migrationLockMs / 1_000} seconds; wait for it and start again`,
      { cause: error },
    );
  }
}

function refuse(failed: readonly string[], edited: readonly string[]): void {
  if (failed.length > 0) {
    throw new Error(
      `the database records a migration that did not finish: ${failed.join(', ')}. Check its partial changes, ` +
        'then mark it with `prisma migrate resolve --applied <name>` or `--rolled-back <name>`',
    );
  }
  if (edited.length > 0) {
    throw new Error(
      `a migration was edited after it had been applied to this database: ${edited.join(', ')}. ` +
        'Restore its file and put the change into a new migration; a development database may be deleted instead',
    );
  }
}

async function apply(client: Client, migration: SchemaFile): Promise<void> {
  const { name, script, checksum } = migration;
  const started = await client.query<{ at: Date }>('SELECT clock_timestamp() AS at');
  const startedAt = started.rows[0]?.at;
  const inTransaction = !NO_TRANSACTION.test(script);
  try {
    if (inTransaction) await client.query('BEGIN');
    await runScript(client, migration, `migration ${name}`);
    await client.query(
      `INSERT INTO "_prisma_migrations" (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
       VALUES ($1, $2, $3, $4, clock_timestamp(), 1)`,
      [randomUUID(), checksum, name, startedAt],
    );
    if (inTransaction) await client.query('COMMIT');
  } catch (error) {
    if (inTransaction) await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

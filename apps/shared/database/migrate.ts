import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { errorCode } from '../error-code.ts';
import type { Limits } from '../limits.ts';
import { MISSING_RIGHTS } from './readiness.ts';

/** The advisory lock that Prisma's own engine takes, so that the two never migrate at the same time. */
const PRISMA_LOCK = 72_707_369;
/** The migration that gives roles and rights. */
const RIGHTS = /_roles$/;
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

export interface MigrationResult {
  /** Names of the migrations that this run applied, in order. Empty when the database was up to date. */
  readonly applied: string[];
  /** Names that the database has and this version does not know: it was migrated by a newer version. */
  readonly unknown: string[];
  /** Whether roles or rights were missing in a database that has all migrations, and were made anew. */
  readonly renewedRights: boolean;
}

/**
 * Applies what is missing of the migrations in `folder` (Prisma's layout: one folder each, in order of name), in the
 * records and under the lock that `prisma migrate` uses, so that both accept each other's work. Each migration and
 * its record are one transaction, unless the script says `-- migrate:no-transaction`. Several processes may do this
 * at once: one works, the others wait.
 *
 * Throws, with the database unchanged, when a migration that was applied has been edited since, when one is recorded
 * as failed, and when one fails now (those before it stay applied).
 */
export async function migrate(databaseUrl: string, folder: string, limits: Limits): Promise<MigrationResult> {
  const migrations = await readMigrations(folder);
  const client = new Client({ connectionString: databaseUrl, application_name: 'countersign migrate' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await lock(client, limits);
    await client.query(RECORDS);
    const { rows } = await client.query<MigrationRecord>(READ_RECORDS);
    refuseFailed(rows);
    refuseEdited(rows, migrations);
    const done = new Set(rows.map((row) => row.migration_name));
    const missing = migrations.filter(({ name }) => !done.has(name));
    for (const migration of missing) await apply(client, migration);
    const known = new Set(migrations.map(({ name }) => name));
    return {
      applied: missing.map(({ name }) => name),
      unknown: [...done].filter((name) => !known.has(name)),
      renewedRights: await renewRights(client, migrations),
    };
  } finally {
    // The lock belongs to the session and ends with it.
    await client.end();
  }
}

export interface MigrationStatus {
  readonly applied: string[];
  /** Not applied yet. */
  readonly missing: string[];
  /** Applied, and its file is another one now. */
  readonly edited: string[];
  /** Begun, and not finished. */
  readonly failed: string[];
  /** Applied by a newer version. */
  readonly unknown: string[];
  /** Whether roles or rights are missing in a database that has all migrations: it was restored into another server. */
  readonly lacksRights: boolean;
}

/** How far the database is. Changes nothing and waits for nobody. */
export async function migrationStatus(databaseUrl: string, folder: string): Promise<MigrationStatus> {
  const migrations = await readMigrations(folder);
  const client = new Client({ connectionString: databaseUrl, application_name: 'countersign migrate' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows: tables } = await client.query(`SELECT 1 WHERE to_regclass('"_prisma_migrations"') IS NOT NULL`);
    const rows = tables.length === 0 ? [] : (await client.query<MigrationRecord>(READ_RECORDS)).rows;
    const records = new Map(rows.map((row) => [row.migration_name, row]));
    const known = new Map(migrations.map(({ name, checksum }) => [name, checksum]));
    const names = [...records.keys()];
    return {
      applied: names.filter((name) => known.has(name) && records.get(name)?.finished_at),
      missing: [...known.keys()].filter((name) => !records.has(name)),
      edited: names.filter((name) => known.has(name) && known.get(name) !== records.get(name)?.checksum),
      failed: names.filter((name) => records.get(name)?.finished_at === null),
      unknown: names.filter((name) => !known.has(name)),
      lacksRights: names.some((name) => RIGHTS.test(name)) && (await lacksRights(client)),
    };
  } finally {
    await client.end();
  }
}

interface Migration {
  readonly name: string;
  readonly script: string;
  readonly checksum: string;
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, 'migration.sql')))
    .map((entry) => entry.name)
    .sort();
  return Promise.all(
    names.map(async (name) => {
      const bytes = await readFile(join(folder, name, 'migration.sql'));
      return { name, script: bytes.toString('utf8'), checksum: createHash('sha256').update(bytes).digest('hex') };
    }),
  );
}

/**
 * A backup of a database has neither roles nor, where it could not find them, rights. Both come from the migration that gives them, which may
 * be repeated. Answers whether anything was missing.
 */
async function renewRights(client: Client, migrations: readonly Migration[]): Promise<boolean> {
  const rights = migrations.find(({ name }) => RIGHTS.test(name));
  if (rights === undefined || !(await lacksRights(client))) return false;
  await client.query(`BEGIN; ${rights.script}; COMMIT`);
  return true;
}

async function lacksRights(client: Client): Promise<boolean> {
  return ((await client.query(MISSING_RIGHTS)).rowCount ?? 0) > 0;
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

function refuseFailed(records: readonly MigrationRecord[]): void {
  const failed = records.filter((record) => record.finished_at === null).map((record) => record.migration_name);
  if (failed.length === 0) return;
  throw new Error(
    `the database records a migration that did not finish: ${failed.join(', ')}. Look at what it left behind, ` +
      'then mark it with `prisma migrate resolve --applied <name>` or `--rolled-back <name>`',
  );
}

function refuseEdited(records: readonly MigrationRecord[], migrations: readonly Migration[]): void {
  const checksums = new Map(records.map((record) => [record.migration_name, record.checksum]));
  const edited = migrations
    .filter(({ name, checksum }) => checksums.has(name) && checksums.get(name) !== checksum)
    .map(({ name }) => name);
  if (edited.length === 0) return;
  throw new Error(
    `a migration was edited after it had been applied to this database: ${edited.join(', ')}. ` +
      'Restore its file and put the change into a new migration; a development database may be deleted instead',
  );
}

async function apply(client: Client, { name, script, checksum }: Migration): Promise<void> {
  const started = await client.query<{ at: Date }>('SELECT clock_timestamp() AS at');
  const startedAt = started.rows[0]?.at;
  const inTransaction = !NO_TRANSACTION.test(script);
  try {
    if (inTransaction) await client.query('BEGIN');
    // Without values the whole script goes over in one message: bodies in $$ quotes need no splitting.
    await client.query(script);
    await client.query(
      `INSERT INTO "_prisma_migrations" (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
       VALUES ($1, $2, $3, $4, clock_timestamp(), 1)`,
      [randomUUID(), checksum, name, startedAt],
    );
    if (inTransaction) await client.query('COMMIT');
  } catch (error) {
    if (inTransaction) await client.query('ROLLBACK').catch(() => undefined);
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`migration ${name} failed${place(script, error)}: ${message}`, { cause: error });
  }
}

/** Where in the script the server saw the fault, as text for the message. */
function place(script: string, error: unknown): string {
  const position = error instanceof Error && 'position' in error ? Number(error.position) : NaN;
  if (!(position > 0)) return '';
  return ` at line ${script.slice(0, position).split('\n').length}`;
}

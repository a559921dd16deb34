import { execFile } from 'node:child_process';
import { appendFileSync, chownSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, escapeIdentifier as quoted } from 'pg';
import { readEnvironment } from '../../apps/shared/config/env.ts';
import { findOrStartPostgres } from '../../apps/shared/embedded/postgres.ts';
import type { Stack } from './stack.ts';
import { patiently } from './wait-for.ts';

/**
 * How a database comes back. `rows`: all rows are written anew, as `pg_restore` does. `template`: it is made from
 * another database of the server. `files`: the server's folder is restored. `recovered`: the same, and the server is
 * promoted, as after a recovery to a point in time. `kept`: it is not restored.
 */
export type DatabaseCopy = 'rows' | 'template' | 'files' | 'recovered' | 'kept';
/** What happens to Temporal meanwhile. */
export type EngineCopy = 'kept' | 'restored' | 'emptied';

const run = promisify(execFile);
const copy = (from: string, to: string) => run('cp', ['-a', from, to]);
const SCHEMAS = `('gateway', 'approvals', 'pdp', 'audit')`;

export async function databaseUrl({ stateDir }: Stack): Promise<string> {
  return (await findOrStartPostgres({ stateDir, searchPath: readEnvironment().searchPath })).url;
}

export function engineAddress({ stateDir }: Stack): string {
  const { port } = JSON.parse(readFileSync(join(stateDir, 'temporal', 'server.json'), 'utf8')) as { port: number };
  return `127.0.0.1:${port}`;
}

/** Takes a backup now, and answers a function that restores it. No part of the product may run meanwhile. */
export async function backUp(stack: Stack, of: { database: DatabaseCopy; engine: EngineCopy }) {
  const database = await DATABASES[of.database](stack);
  const engine = await ENGINES[of.engine](stack);
  return async (): Promise<void> => {
    await database();
    await engine();
  };
}

/** Takes a copy, and answers a function that restores it. */
type Copier = (stack: Stack) => Promise<() => Promise<void>>;
const NOT_AT_ALL: Copier = async () => async () => undefined;

const DATABASES: Readonly<Record<DatabaseCopy, Copier>> = {
  kept: NOT_AT_ALL,
  async rows(stack) {
    await administer(stack, 'countersign', copyRows);
    return () => administer(stack, 'countersign', putRowsBack);
  },
  async template(stack) {
    await administer(stack, 'postgres', async (client) => {
      await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'countersign'`);
      await client.query('CREATE DATABASE backup TEMPLATE countersign');
    });
    return () =>
      administer(stack, 'postgres', async (client) => {
        await client.query('DROP DATABASE countersign WITH (FORCE)');
        await client.query('ALTER DATABASE backup RENAME TO countersign');
      });
  },
  files: (stack) => copyFiles(stack, () => undefined),
  recovered: (stack) => copyFiles(stack, recoverAtStart),
};

const ENGINES: Readonly<Record<EngineCopy, Copier>> = {
  kept: NOT_AT_ALL,
  async restored(stack) {
    const { home, names } = engineFiles(stack);
    const backup = join(stack.folder, 'temporal-backup');
    await stack.kill('temporal');
    await run('mkdir', ['-p', backup]);
    for (const name of names()) await copy(join(home, name), backup);
    await stack.startPart('temporal');
    return () => withoutEngine(stack, () => run('cp', ['-a', `${backup}/.`, home]));
  },
  emptied: async (stack) => () => withoutEngine(stack, async () => undefined),
};

function engineFiles({ stateDir }: Stack) {
  const home = join(stateDir, 'temporal');
  return { home, names: () => readdirSync(home).filter((name) => name.startsWith('temporal.db')) };
}

/** Stops Temporal, takes its data away, and starts it again after other data was put there. */
async function withoutEngine(stack: Stack, work: () => Promise<unknown>): Promise<void> {
  const { home, names } = engineFiles(stack);
  await stack.kill('temporal');
  for (const name of names()) rmSync(join(home, name));
  await work();
  await stack.startPart('temporal');
}

async function copyFiles(stack: Stack, atStart: (data: string) => void): Promise<() => Promise<void>> {
  const data = join(stack.stateDir, 'postgres', 'data');
  const backup = join(stack.folder, 'postgres-backup');
  await stack.kill('postgres');
  rmSync(backup, { recursive: true, force: true });
  await copy(data, backup);
  await stack.startPart('postgres');
  return async () => {
    await stack.kill('postgres');
    rmSync(data, { recursive: true });
    await copy(backup, data);
    atStart(data);
    await stack.startPart('postgres');
    const inRecovery = async (client: Client) =>
      (await client.query<{ is: boolean }>('SELECT pg_is_in_recovery() AS is')).rows[0]?.is;
    await patiently(async () => (await administer(stack, 'postgres', inRecovery)) === false);
  };
}

/** Has the server recover to the end of its data, and begin another timeline. */
function recoverAtStart(data: string): void {
  const { uid, gid } = statSync(data);
  writeFileSync(join(data, 'recovery.signal'), '');
  chownSync(join(data, 'recovery.signal'), uid, gid);
  appendFileSync(join(data, 'postgresql.conf'), "\nrestore_command = 'false'\n");
}

async function administer<T>(stack: Stack, database: string, work: (client: Client) => Promise<T>): Promise<T> {
  const url = new URL(await databaseUrl(stack));
  url.pathname = `/${database}`;
  const client = new Client({ connectionString: url.href });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function tablesOf(client: Client): Promise<{ table: string; backup: string; columns: string }[]> {
  const { rows } = await client.query<{ schema: string; name: string; columns: string[] }>(
    `SELECT t.table_schema AS schema, t.table_name AS name, array_agg(c.column_name::text ORDER BY c.ordinal_position) AS columns
     FROM information_schema.tables t JOIN information_schema.columns c USING (table_schema, table_name)
     WHERE t.table_schema IN ${SCHEMAS} AND t.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER' GROUP BY 1, 2`,
  );
  return rows.map(({ schema, name, columns }) => ({
    table: `${quoted(schema)}.${quoted(name)}`,
    backup: `backup.${quoted(`${schema}.${name}`)}`,
    columns: columns.map(quoted).join(', '),
  }));
}

async function copyRows(client: Client): Promise<void> {
  await client.query('CREATE SCHEMA backup');
  for (const { table, backup, columns } of await tablesOf(client))
    await client.query(`CREATE TABLE ${backup} AS SELECT ${columns} FROM ${table}`);
  await client.query(`CREATE TABLE backup.sequence AS SELECT schemaname, sequencename, last_value FROM pg_sequences
    WHERE schemaname IN ${SCHEMAS} AND last_value IS NOT NULL`);
}

async function putRowsBack(client: Client): Promise<void> {
  const tables = await tablesOf(client);
  await client.query('BEGIN; SET LOCAL session_replication_role = replica');
  await client.query(`TRUNCATE ${tables.map(({ table }) => table).join(', ')}`);
  for (const { table, backup, columns } of tables)
    await client.query(`INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM ${backup}`);
  await client.query(`SELECT setval(format('%I.%I', schemaname, sequencename), last_value) FROM backup.sequence`);
  await client.query('COMMIT; DROP SCHEMA backup CASCADE');
}

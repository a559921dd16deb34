import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { Client, Pool } from 'pg';
import { migrate } from '../../apps/shared/database/migrate.ts';
import { createPool } from '../../apps/shared/database/pool.ts';
import { findOrStartPostgres } from '../../apps/shared/embedded/postgres.ts';
import { until, withStartLock } from '../../apps/shared/embedded/process-tools.ts';
import { PrismaClient } from '../../prisma/generated/client.ts';
import { testRunFolder } from './test-run.ts';
import { systemTime } from './time.ts';

export interface TestDatabase {
  readonly url: string;
  readonly pool: Pool;
  readonly prisma: PrismaClient;
  /** Ends pool and client, and deletes the database. Fails when another client is still connected to it. */
  drop(): Promise<void>;
}

/**
 * A new migrated database for one test file: `beforeAll` makes it, `afterAll` drops it. The first one of a jest run
 * starts the server; the server never syncs, so a test of durability starts its own with `findOrStartPostgres`.
 */
export async function createTestDatabase(options: { max?: number } = {}): Promise<TestDatabase> {
  const copy = await copyAsItIs();
  const pool = createPool(copy.url, { ...systemTime, max: options.max ?? 10, applicationName: 'test file' });
  await pool.query(AS_ITS_OWN);
  let prisma: PrismaClient | undefined;
  const drop = async () => {
    await prisma?.$disconnect();
    await pool.end();
    await copy.drop();
  };
  return {
    ...{ url: copy.url, pool, drop },
    get prisma() {
      return (prisma ??= new PrismaClient({ adapter: new PrismaPg(pool) }));
    },
  };
}

interface Copy {
  readonly url: string;
  drop(): Promise<void>;
}

/** A new migrated database. `drop` fails when a client is still connected to it. */
export async function copyTemplate(): Promise<Copy> {
  const copy = await copyAsItIs();
  const client = new Client({ connectionString: copy.url });
  await client.connect();
  await client.query(AS_ITS_OWN);
  await client.end();
  return copy;
}

async function copyAsItIs(): Promise<Copy> {
  const template = await migratedTemplate();
  const name = `test_${process.env['JEST_WORKER_ID'] ?? '0'}_${randomBytes(6).toString('hex')}`;
  // A server that never syncs copies files in half the time that it takes to log them.
  const from = new URL(template).pathname.slice(1);
  await administer(template, `CREATE DATABASE ${name} TEMPLATE ${from} STRATEGY file_copy`);
  const drop = async () => {
    const left = await connectionsLeft(template, name);
    await administer(template, `DROP DATABASE ${name} WITH (FORCE)`);
    if (left.length > 0) throw new Error(`connections were left open by: ${left.join(', ')}`);
  };
  return { url: withDatabase(template, name), drop };
}

/** An empty database without any migration, for tests of the migration itself. */
export async function createEmptyDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const template = await migratedTemplate();
  const name = `empty_${randomBytes(6).toString('hex')}`;
  await administer(template, `CREATE DATABASE ${name}`);
  const drop = async () => void (await administer(template, `DROP DATABASE ${name} WITH (FORCE)`));
  return { url: withDatabase(template, name), drop };
}

let template: Promise<string> | undefined;

/** The server of this run with a migrated database in it, started by the first test file that needs it. */
function migratedTemplate(): Promise<string> {
  template ??= withStartLock(join(testRunFolder(), 'template.lock'), async () => {
    const folder = testRunFolder();
    const { url } = await findOrStartPostgres({
      stateDir: folder,
      searchPath: process.env['PATH'] ?? '',
      durable: false,
    });
    // Only once, because no client may be connected to the template while it is copied.
    const ready = join(folder, 'template.ready');
    if (!existsSync(ready)) {
      await migrate(url, systemTime.limits);
      writeFileSync(ready, '');
    }
    return url;
  });
  return template;
}

async function connectionsLeft(url: string, database: string): Promise<string[]> {
  const text = `SELECT application_name FROM pg_stat_activity WHERE datname = '${database}'`;
  const look = async () => (await administer(url, text)).rows;
  // A backend needs a moment to notice that its client is gone.
  const none = await until(async () => ((await look()).length === 0 ? true : undefined), { withinMs: 20_000 });
  return none === true ? [] : (await look()).map((row) => row.application_name || 'a client without a name');
}

/** A copy of a database counts as restored. These copies do not: each begins its own history. */
const AS_ITS_OWN =
  'UPDATE gateway.epoch SET installation = gen_random_uuid(); SELECT gateway.stamp(1), gateway.stamp(2)';

let administrator: Pool | undefined;

/** All test files of a worker share one connection, which does not keep the worker alive. */
function administer(url: string, statement: string) {
  const connectionString = withDatabase(url, 'postgres');
  administrator ??= new Pool({ connectionString, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true })
    // At the end of the run, the server may stop first.
    .on('error', () => undefined);
  return administrator.query<{ application_name: string }>(statement);
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

import { PrismaPg } from '@prisma/adapter-pg';
import { Client, type ClientBase, Pool, type PoolClient } from 'pg';
import type { Logger } from 'pino';
import { PrismaClient } from '../../../prisma/generated/client.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Limits } from '../limits.ts';
import { databaseProblem, isPassing, problemBehind } from './readiness.ts';
import { reportTransitions } from './transitions.ts';

const KEEP_ALIVE_AFTER_MS = 10_000;

/** The limits of every connection, also for a server that vanishes: the network does not report it. */
const connectionLimits = (limits: Limits) => ({
  statement_timeout: limits.databaseStatementMs,
  lock_timeout: limits.databaseLockMs,
  idle_in_transaction_session_timeout: limits.databaseIdleTransactionMs,
  connectionTimeoutMillis: limits.databaseConnectMs,
  query_timeout: limits.databaseAnswerMs,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
});

/** The database role of each deployable. Roles own no objects, and change fenced rows only through functions. */
export const ROLES = {
  gateway: 'countersign_enforcement',
  worker: 'countersign_enforcement',
  pdp: 'countersign_pdp',
  approvals: 'countersign_approvals',
  audit: 'countersign_auditor',
} as const;
type Role = (typeof ROLES)[keyof typeof ROLES];

interface PoolOptions {
  readonly max?: number;
  readonly applicationName: string;
  readonly role?: Role;
  readonly durable?: boolean;
  readonly limits: Limits;
  readonly log?: Logger;
}

/**
 * Connections to the database, for prepared queries and for Prisma. There is a limit on each statement, lock, idle transaction,
 * connection (also one of the pool's) and answer. A query that would run on a standby fails with `ERR_DATABASE_UNAVAILABLE`, and with
 * `durable` also one on a server that may lose confirmed commits. The caller ends the pool.
 *
 * @param max Largest number of connections.
 * @param applicationName The name in `pg_stat_activity`.
 * @param role The role of its connections; the login has to be a member of it.
 * @param log Receives a line for each change of state by its statements.
 */
export function createPool(
  databaseUrl: string,
  { max = 10, applicationName, role, durable = false, limits, log }: PoolOptions,
): Pool {
  const pool = new Pool({
    connectionString: role === undefined ? databaseUrl : withOption(databaseUrl, `role=${role}`),
    max,
    application_name: applicationName,
    ...connectionLimits(limits),
    verify: (client, done) => void verify(client, durable).then(() => done(), done),
  });
  // Reports idle connections that the server closed. The pool has already dropped them; without a listener the event would end the
  // process.
  pool.on('error', () => undefined);
  if (log !== undefined) reportTransitions(pool, log);
  return pool;
}

/** Adds a setting that the server applies to each connection from its start. */
export function withOption(databaseUrl: string, setting: string): string {
  const url = new URL(databaseUrl);
  const options = url.searchParams.get('options');
  url.searchParams.set('options', [options, `-c ${setting}`].filter(Boolean).join(' '));
  return url.href;
}

/** Checks each new connection, because after a failover the same address may lead to another server. */
async function verify(client: PoolClient, durable: boolean): Promise<void> {
  // The query rejects, too, when the connection breaks; an error event without a listener would end the process.
  const ignore = () => undefined;
  client.on('error', ignore);
  try {
    const problem = await unfitness(client, { durable });
    if (problem !== undefined) throw unfit(problem);
  } finally {
    client.off('error', ignore);
  }
}

const unfit = (problem: string) =>
  new CountersignError('ERR_DATABASE_UNAVAILABLE', `the database cannot be used: ${problem}`);

/**
 * Throws `ERR_DATABASE_UNAVAILABLE` when the server answers and is unfit: a standby, a server that may lose confirmed commits, or, with a
 * role, one of another version or one that does not let the login take on the role. A server that does not answer may come later, and
 * is checked then.
 */
export async function refuseUnfitDatabase(
  databaseUrl: string,
  options: { durable: boolean; role?: Role; limits: Limits },
): Promise<void> {
  const { role, limits } = options;
  const found = (url: string, look: (client: Client) => Promise<string | undefined>) => {
    const named = { connectionString: url, application_name: 'countersign start' };
    const client = new Client({ ...named, ...connectionLimits(limits) });
    client.on('error', () => undefined);
    return client
      .connect()
      .then(() => look(client))
      .catch(problemBehind)
      .finally(() => client.end().catch(() => undefined));
  };
  const problem =
    (await found(databaseUrl, (client) => unfitness(client, options))) ??
    (role && (await found(withOption(databaseUrl, `role=${role}`), databaseProblem)));
  if (problem !== undefined && !isPassing(problem)) throw unfit(problem);
}

export type { PrismaClient };

/** A Prisma client over the pool. `$disconnect` it before the pool is ended; it does not end the pool itself. */
export function createPrisma(pool: Pool): PrismaClient {
  return new PrismaClient({ adapter: new PrismaPg(pool) });
}

interface Look {
  readonly is_standby: boolean;
  readonly switched_off: string[];
}

// With one of these off, a crash can undo a confirmed commit: a permit to send would be given twice.
const LOOK = `
  SELECT pg_is_in_recovery() AS is_standby, array(
    SELECT name FROM unnest(ARRAY['fsync', 'full_page_writes', 'synchronous_commit']) AS name
    WHERE current_setting(name) = 'off') AS switched_off`;

/** Why this server is unfit: it is a standby, or (with `durable`) it may lose confirmed commits. Undefined when it is fit. */
export async function unfitness(client: ClientBase, { durable }: { durable: boolean }): Promise<string | undefined> {
  const { rows } = await client.query<Look>(LOOK);
  const [look] = rows;
  if (look?.is_standby !== false) return 'it is a standby; connect to the primary';
  if (!durable || look.switched_off.length === 0) return undefined;
  return `it may lose confirmed commits, with ${look.switched_off.join(' and ')} switched off; switch them on`;
}

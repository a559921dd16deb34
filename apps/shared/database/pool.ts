import { PrismaPg } from '@prisma/adapter-pg';
import { Client, type ClientBase, Pool, type PoolClient } from 'pg';
import type { Logger } from 'pino';
import { PrismaClient } from '../../../prisma/generated/client.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Limits } from '../limits.ts';
import { databaseProblem, isPassing, problemBehind } from './readiness.ts';
import { reportTransitions } from './transitions.ts';

const KEEP_ALIVE_AFTER_MS = 10_000;

/** The limits of every connection. A server that vanished without a word is given up, too: the network tells nobody. */
const connectionLimits = (limits: Limits) => ({
  statement_timeout: limits.databaseStatementMs,
  lock_timeout: limits.databaseLockMs,
  idle_in_transaction_session_timeout: limits.databaseIdleTransactionMs,
  connectionTimeoutMillis: limits.databaseConnectMs,
  query_timeout: limits.databaseAnswerMs,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
});

/** What a deployable may do in the database. Each role owns nothing, and changes fenced rows by functions alone. */
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
 * Connections to the database, for prepared queries and for Prisma alike. Nothing waits without end: not a statement, a lock, a
 * transaction that its client forgot, a connection (also one of the pool's), or an answer.
 * A connection to a standby is not used, nor is, with `durable`, one to a server that may lose what it has confirmed:
 * whoever asks for it gets `ERR_DATABASE_UNAVAILABLE`. Whoever makes the pool ends it.
 *
 * @param max Largest number of connections.
 * @param applicationName What an operator sees in `pg_stat_activity`.
 * @param role The role it works under; the login has to be a member of it.
 * @param log Gets a line for each change of state that its statements make.
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
  // An idle connection that the server closes reports here; without a listener it would end the process. The pool
  // has already let go of it, and the next query opens another.
  pool.on('error', () => undefined);
  if (log !== undefined) reportTransitions(pool, log);
  return pool;
}

/** The address with one more setting that the server applies to each connection from its start. */
export function withOption(databaseUrl: string, setting: string): string {
  const url = new URL(databaseUrl);
  const options = url.searchParams.get('options');
  url.searchParams.set('options', [options, `-c ${setting}`].filter(Boolean).join(' '));
  return url.href;
}

/** After a failover the same address may lead elsewhere, so each new connection is looked at. */
async function verify(client: PoolClient, durable: boolean): Promise<void> {
  // A connection that breaks meanwhile says so twice; an event that nobody listens to would end the process.
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
 * Throws `ERR_DATABASE_UNAVAILABLE` when the server answers and is none to work on: a standby, one that loses what it confirms, or,
 * where a role is named, one that is of another version or does not let the login take on that role. A server that does not answer may
 * come later, and is looked at then.
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

/** What a server must not be, or lack, for its confirmations to be relied on. */
interface Look {
  readonly is_standby: boolean;
  readonly switched_off: string[];
}

// A commit that was confirmed can be gone after a crash when one of these is off: a permit to send would be given twice.
const LOOK = `
  SELECT pg_is_in_recovery() AS is_standby, array(
    SELECT name FROM unnest(ARRAY['fsync', 'full_page_writes', 'synchronous_commit']) AS name
    WHERE current_setting(name) = 'off') AS switched_off`;

/**
 * Why this server is not one to work on: it is a standby, which shows the past, or (with `durable`) it may lose what it
 * has confirmed. Undefined when nothing speaks against it.
 */
export async function unfitness(client: ClientBase, { durable }: { durable: boolean }): Promise<string | undefined> {
  const { rows } = await client.query<Look>(LOOK);
  const [look] = rows;
  if (look?.is_standby !== false) return 'it is a standby; connect to the primary';
  if (!durable || look.switched_off.length === 0) return undefined;
  return `it may lose what it has confirmed, with ${look.switched_off.join(' and ')} switched off; switch them on`;
}

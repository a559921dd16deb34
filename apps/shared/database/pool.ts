import { type Client, type ClientBase, Pool, type PoolClient } from 'pg';
import type { Logger } from 'pino';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Limits } from '../limits.ts';
import { withClient } from './client.ts';
import { isPooledByTransaction, POOLED } from './pooler.ts';
import { databaseProblem, isPassing, notThePrimary, problemBehind, type Use } from './readiness.ts';
import { reportTransitions } from './transitions.ts';

const KEEP_ALIVE_AFTER_MS = 10_000;

/** The limits of every connection. Keep-alive probes find a server that vanished, which the network does not report. */
const connectionLimits = (limits: Limits) => ({
  statement_timeout: limits.databaseStatementMs,
  lock_timeout: limits.databaseLockMs,
  idle_in_transaction_session_timeout: limits.databaseIdleTransactionMs,
  connectionTimeoutMillis: limits.databaseConnectMs,
  query_timeout: limits.databaseAnswerMs,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
});

/** The database role of each deployable. A role owns nothing and changes fenced rows only through functions. */
export const ROLES = {
  gateway: 'countersign_enforcement',
  worker: 'countersign_enforcement',
  pdp: 'countersign_pdp',
  approvals: 'countersign_approvals',
  audit: 'countersign_auditor',
} as const;
type Role = (typeof ROLES)[keyof typeof ROLES];

interface PoolOptions extends Use {
  readonly max?: number;
  readonly applicationName: string;
  readonly role?: Role;
  readonly durable?: boolean;
  readonly limits: Limits;
  readonly log?: Logger;
}

/**
 * Connections to the database. Each wait has a limit: for a statement, a lock, a transaction that its client forgot, a connection
 * (also one of the pool's), and an answer.
 * The pool uses no connection to a standby, none to a server that accepts no changes, unless it only reads, and, with `durable`, none to a
 * server that may lose commits that it confirmed: a caller gets `ERR_DATABASE_UNAVAILABLE`. The caller of this function ends the pool.
 *
 * @param max Largest number of connections.
 * @param applicationName The name in `pg_stat_activity`.
 * @param role The role of its connections; the login has to be a member of it.
 * @param onlyReads Whether its transactions cannot write.
 * @param log Receives a line for each change of state by its statements.
 */
export function createPool(
  databaseUrl: string,
  { max = 10, applicationName, role, durable = false, onlyReads = false, limits, log }: PoolOptions,
): Pool {
  const settings = [
    ...(role === undefined ? [] : [`role=${role}`]),
    ...(onlyReads ? ['default_transaction_read_only=on'] : []),
  ];
  const pool = new Pool({
    connectionString: settings.reduce(withOption, databaseUrl),
    max,
    application_name: applicationName,
    ...connectionLimits(limits),
    verify: (client, done) => void verify(client, { durable, onlyReads }).then(() => done(), done),
  });
  // The pool has already replaced an idle connection that the server closed; without a listener the event would end the process.
  pool.on('error', () => undefined);
  if (log !== undefined) reportTransitions(pool, log);
  return pool;
}

/** The address with one more setting, which the server applies to each connection from its start. */
export function withOption(databaseUrl: string, setting: string): string {
  const url = new URL(databaseUrl);
  const options = url.searchParams.get('options');
  url.searchParams.set('options', [options, `-c ${setting}`].filter(Boolean).join(' '));
  return url.href;
}

/** Checks each new connection: after a failover the same address may lead to another server. */
async function verify(client: PoolClient, wanted: Fitness): Promise<void> {
  // A connection that breaks meanwhile rejects the query and emits an event, which without a listener would end the process.
  const ignore = () => undefined;
  client.on('error', ignore);
  try {
    const problem = await unfitness(client, wanted);
    if (problem !== undefined) throw unfit(problem);
  } finally {
    client.off('error', ignore);
  }
}

const unfit = (problem: string) =>
  new CountersignError('ERR_DATABASE_UNAVAILABLE', `the database cannot be used: ${problem}`);

/**
 * Throws `ERR_DATABASE_UNAVAILABLE` when the server answers and is unfit: it is behind a pooler by transaction, is a standby, may lose confirmed commits or, where a role
 * is named, has another version or does not let the login take the role. A server that does not answer yet is checked by the pool later.
 */
export async function refuseUnfitDatabase(
  databaseUrl: string,
  options: { durable: boolean; role?: Role; limits: Limits },
): Promise<void> {
  const { role, limits } = options;
  const at = (url: string) => ({
    ...{ connectionString: url, application_name: 'countersign start' },
    ...connectionLimits(limits),
  });
  const problemAt = (url: string, check: (client: Client) => Promise<string | undefined>) =>
    withClient(at(url), check).catch(problemBehind);
  const problem =
    (await isPooledByTransaction(at(databaseUrl)).then(
      (isPooled) => (isPooled ? `its address ${POOLED}` : undefined),
      problemBehind,
    )) ??
    (await problemAt(databaseUrl, (client) => unfitness(client, options))) ??
    (role && (await problemAt(withOption(databaseUrl, `role=${role}`), databaseProblem)));
  if (problem !== undefined && !isPassing(problem)) throw unfit(problem);
}

interface Fitness extends Use {
  /** Whether a confirmed commit has to survive a crash of the server. */
  readonly durable: boolean;
}

// With one of these off, a crash can undo a confirmed commit: the gateway could give a permit to send twice.
const SWITCHED_OFF = `
  SELECT name FROM unnest(ARRAY['fsync', 'full_page_writes', 'synchronous_commit']) AS name
  WHERE current_setting(name) = 'off'`;

/**
 * Why this server is unfit: it is a standby, whose data are old, it accepts no changes, or (with `durable`) it may lose confirmed commits.
 * Undefined when it is fit.
 */
export async function unfitness(client: ClientBase, { durable, ...use }: Fitness): Promise<string | undefined> {
  const standing = await notThePrimary(client, use);
  if (standing !== undefined) return `it ${standing}`;
  if (!durable) return undefined;
  const names = (await client.query<{ name: string }>(SWITCHED_OFF)).rows.map(({ name }) => name);
  if (names.length === 0) return undefined;
  return `it may lose confirmed commits, with ${names.join(' and ')} switched off; switch them on`;
}

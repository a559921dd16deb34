import type { ClientBase, Pool, QueryConfig } from 'pg';
import type { Logger } from 'pino';
import * as z from 'zod';
import { withPooled } from './client.ts';

/** The report of a database trigger about a change. @see prisma/functions/gateway/report.sql */
const state = z.string().or(z.number());
const transition = z.looseObject({ of: z.string(), from: state.optional(), to: state });
const REPORT = 'countersign.transition';
type Notice = Readonly<Partial<Record<'message' | 'detail', string | undefined>>>;

/**
 * Logs each change of state that statements of this pool make: one line each, after the statement is committed. A failed statement
 * leaves no line. Where the answer to a commit is lost, its line is lost, too; the tables have the change.
 */
export function reportTransitions(pool: Pool, log: Logger): void {
  const plain = pool.query.bind(pool) as (...args: unknown[]) => unknown;
  const reporting = (config: QueryConfig) =>
    withPooled(pool, (client) => logTransitions(client, log, () => client.query(config)));
  pool.query = ((first: unknown, ...rest: unknown[]) =>
    isConfig(first) && rest.length === 0 ? reporting(first) : plain(first, ...rest)) as Pool['query'];
}

/** Runs one statement on this connection, and logs its changes as `reportTransitions` does. */
export async function logTransitions<T>(client: ClientBase, log: Logger, statement: () => Promise<T>): Promise<T> {
  const details: (string | undefined)[] = [];
  const take = ({ message, detail }: Notice) => void (message === REPORT && details.push(detail));
  client.on('notice', take);
  try {
    const answer = await statement();
    for (const detail of details) write(log, detail);
    return answer;
  } finally {
    client.off('notice', take);
  }
}

const isConfig = (value: unknown): value is QueryConfig => typeof value === 'object' && value !== null;

function write(log: Logger, detail: string | undefined): void {
  const report = transition.safeParse(JSON.parse(detail ?? '{}'));
  if (!report.success) return log.error({ detail }, 'the database reported a change that cannot be read');
  const { of, from, to } = report.data;
  const change = from === undefined ? to : `${from} to ${to}`;
  log.info({ event: 'transition', ...report.data }, `${of.replaceAll('_', ' ')}: ${change}`);
}

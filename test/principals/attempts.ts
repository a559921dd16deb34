import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import type { Pool } from 'pg';
import { send } from '../support/gateway-wire.ts';
import { waitFor } from '../support/wait-for.ts';

/** Requests that name a task. */
export const METHODS = ['tasks/get', 'tasks/update', 'tasks/cancel', 'subscriptions/listen'] as const;
export type Method = (typeof METHODS)[number];

/** Tasks as seen by a caller to whom they do not belong, or no longer belong. */
export const KINDS = ['open', 'ended', 'purged', 'unknown'] as const;
export type Kind = (typeof KINDS)[number];

/** A gateway with tasks, and callers to whom they do not belong. */
export interface Ground {
  readonly mcpUrl: string;
  readonly taskIds: Readonly<Record<Kind, readonly string[]>>;
  /** The access token of each caller, and which tasks are not the caller's. */
  readonly callers: Readonly<Record<string, { readonly token: string; readonly kinds: readonly Kind[] }>>;
  /** All stored data about calls: equal when no row was changed. */
  stored(): Promise<string>;
}

export interface Attempt {
  readonly caller: string;
  readonly method: Method;
  readonly kind: Kind;
}

export interface Attempted extends Attempt {
  /** The whole answer, as served. */
  readonly answer: string;
  readonly milliseconds: number;
}

/**
 * As many of each sort as of every other, but for tasks that do not exist: as many as of all others. In random order.
 */
export function planAttempts({ callers }: Pick<Ground, 'callers'>, count: number, seed: number): Attempt[] {
  const others = KINDS.filter((kind) => kind !== 'unknown');
  const sorts = METHODS.flatMap((method) =>
    Object.entries(callers).flatMap(([caller, { kinds }]) =>
      others
        .filter((kind) => kinds.includes(kind))
        .flatMap((kind) => [
          { caller, method, kind },
          { caller, method, kind: 'unknown' as const },
        ]),
    ),
  );
  const planned = Array.from({ length: count }, (_, index) => sorts[index % sorts.length] as Attempt);
  const [shuffled = []] = fc.sample(fc.shuffledSubarray(planned, { minLength: count }), { seed, numRuns: 1 });
  return shuffled;
}

/** Makes one attempt. The requests differ only in the id, and have the same length. */
export async function attempt(ground: Ground, { caller, method, kind }: Attempt, nth: number): Promise<Attempted> {
  const ids = ground.taskIds[kind];
  const taskId = ids[nth % ids.length] ?? '';
  const isListen = method === 'subscriptions/listen';
  const params = isListen ? { notifications: { taskIds: [taskId] } } : { taskId, inputResponses: {} };
  const token = ground.callers[caller]?.token;
  const began = performance.now();
  const { status, headers, text } = await send(ground, method, params, { token });
  const milliseconds = performance.now() - began;
  const lines = [String(status)];
  headers.forEach((value, name) => void (name !== 'date' && lines.push(`${name}: ${value}`)));
  return { caller, method, kind, answer: [...lines, text].join('\n'), milliseconds };
}

/** The steps for opening and ending tasks. */
export interface Owner {
  open(nth: number): Promise<string>;
  cancel(taskId: string): Promise<void>;
  /** Resolves when no work is left for tasks that were opened and ended. */
  rest(): Promise<unknown>;
  readonly database: Pool;
}

/** Some tasks of the owner of every kind, and ids that no task has. */
export async function prepareTasks({ open, cancel, rest, database }: Owner, each: number): Promise<Ground['taskIds']> {
  const opened: string[] = [];
  for (let nth = 0; nth < 3 * each; nth += 1) opened.push(await open(nth));
  const [ended, purged] = [opened.slice(each, 2 * each), opened.slice(2 * each)];
  for (const taskId of [...ended, ...purged]) await cancel(taskId);
  // Pending work on a task needs the data that is forgotten with it.
  await rest();
  await database.query('UPDATE gateway.gated_call SET retain_until = now() WHERE task_id = ANY ($1)', [purged]);
  await waitFor(async () => {
    const forgotten = 'SELECT FROM gateway.gated_call WHERE task_id = ANY ($1) AND forgotten_at IS NOT NULL';
    return (await database.query(forgotten, [purged])).rowCount === each;
  });
  const unknown = Array.from({ length: each }, () => `tsk_${randomBytes(16).toString('hex')}`);
  return { open: opened.slice(0, each), ended, purged, unknown };
}

const TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'gateway' ORDER BY tablename";

/** A digest of every row of the enforcement side. */
export async function storedIn(database: Pool): Promise<string> {
  const { rows: tables } = await database.query<{ tablename: string }>(TABLES);
  const digests: string[] = [];
  for (const { tablename } of tables) {
    const all = `SELECT md5(coalesce(string_agg(t::text, ' ' ORDER BY t::text), '')) AS digest FROM gateway.${tablename} t`;
    digests.push(`${tablename} ${(await database.query<{ digest: string }>(all)).rows[0]?.digest}`);
  }
  return digests.join('\n');
}

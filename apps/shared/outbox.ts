import { setMaxListeners } from 'node:events';
import { escapeIdentifier, type Pool } from 'pg';
import type { Logger } from 'pino';
import { pauseMs } from '../../workflows/domain/gated-call/deadlines.ts';
import { asUnavailable } from '../../workflows/domain/errors.ts';
import { ownProperty } from '../../workflows/domain/canonical-json.ts';
import type { Clock } from './clock.ts';
import { listen } from './database/listen.ts';
import type { Running } from './lifecycle.ts';
import { logRepeated } from './logger.ts';
import type { Need } from './needs.ts';
import type { Timing } from './limits.ts';

const POLL_MS = 1_000;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 60_000;
/** A row that failed this often needs an operator. It is still retried from time to time. */
const STUCK_AFTER = 10;
const STUCK_PAUSE_MS = 600_000;

/**
 * Handles one kind of row. It may be called again after it succeeded, so it must be idempotent. `stopping` aborts when the outbox stops: a
 * slow handler then gives up and throws, so that the row is retried soon.
 */
export type OutboxHandler = (subjectId: string, stopping: AbortSignal) => Promise<void>;

/** A failure of services outside. While one is away, all rows that need it fail, so each service has one alarm for all of them. */
export class ServiceFailure extends Error {
  override readonly name = 'ServiceFailure';
  readonly services: readonly string[];

  /** @param services What a person knows them by: the host of their address, or the name of a channel. */
  constructor(message: string, services: readonly string[], options?: ErrorOptions) {
    super(message, options);
    this.services = services;
  }
}

export interface OutboxOptions extends Timing {
  readonly pool: Pool;
  /** A direct connection, because a transaction pooler swallows notices. */
  readonly listenUrl: string;
  readonly schema: string;
  /** Default: `outbox`. */
  readonly table?: string;
  /** The lease of one process on a row, in milliseconds. Default: `outboxLeaseMs`. */
  readonly leaseMs?: number;
  /** Channel of the notices about committed rows. */
  readonly channel: string;
  readonly handlers: Readonly<Record<string, OutboxHandler>>;
  /** The number of rows that this process handles at the same time; with `apart`, of each kind. */
  readonly concurrency: number;
  /** Whether no kind waits for another. Rows of an unknown kind then stay as they are. */
  readonly apart?: boolean;
  readonly log: Logger;
}

/**
 * In the FROM of a statement, makes its commit not wait for the disk. A crash that undoes a lease or a deletion has a row handled once
 * more, which handlers allow anyway.
 */
const WITHOUT_FLUSH = "set_config('synchronous_commit', 'off', true)";

interface Row {
  readonly id: string;
  readonly kind: string;
  readonly subject_id: string;
  readonly attempts: number;
}

/**
 * Hands the rows of an outbox table to their handlers, urgent ones first, each at least once, in any number of processes. A notice starts
 * the work at once; a poll every second finds rows whose notice was lost. A row whose handler throws is retried after a pause that doubles
 * up to a minute, and after ten failures every ten minutes, with an alarm: one for each row, or for all rows that wait for the same service.
 * So is a row of an unknown kind, which a newer version of the program may know. `stop` waits for rows that are being handled.
 */
export async function startOutbox(options: OutboxOptions): Promise<Running> {
  const { schema, table = 'outbox', listenUrl: url, channel, clock, limits } = options;
  const log = options.log.child({ outbox: `${schema}.${table}` });
  const isNews = createAlarms(clock);
  const kinds = options.apart ? Object.keys(options.handlers) : [undefined];
  const dispatchers = kinds.map((kind) => createDispatcher(options, { kind, log, isNews }));
  const deliver = () => dispatchers.forEach((one) => one.deliver());
  const listener = await listen({ url, channel, onNotice: deliver, clock, limits, log });
  const stopPolling = clock.every(POLL_MS, deliver);
  deliver();
  return {
    name: `${schema}.${table}`,
    async stop() {
      stopPolling();
      await Promise.all([...dispatchers, listener].map((one) => one.stop()));
    },
  };
}

const UNREAD = 'the outbox cannot be read; this process tries again';

/** A worker takes a row within a second, and a busy one within some more. */
const UNTAKEN_AFTER_SECONDS = 30;
const UNTAKEN = `
  SELECT extract(epoch FROM clock_timestamp() - min(available_at))::float8 AS seconds FROM gateway.outbox
  WHERE available_at <= clock_timestamp()`;

/**
 * The need for a worker. A row that a worker handles, or will try again, is not due, so a row that stays due was taken by none: all of them
 * have ended, stand still, or cannot reach the database.
 */
export const workerNeed = (pool: Pool): Need => ({
  alarm: 'work_not_taken',
  isVital: false,
  async problem() {
    // Without the database, its own need says so.
    const found = await pool.query<{ seconds: number | null }>(UNTAKEN).catch(() => undefined);
    const seconds = found?.rows[0]?.seconds ?? 0;
    if (seconds < UNTAKEN_AFTER_SECONDS) return undefined;
    return 'no worker takes the work of held calls, so approved calls do not run; start a worker, or read its log';
  },
});

interface Dispatching {
  /** The only kind of rows that it takes. */
  readonly kind: string | undefined;
  readonly log: Logger;
  readonly isNews: IsNews;
}

function createDispatcher(options: OutboxOptions, { kind, log, isNews }: Dispatching) {
  const { handlers, concurrency } = options;
  const rows = createRows(options, kind);
  const inHand = new Set<Promise<void>>();
  const stopping = new AbortController();
  const { signal } = stopping;
  // Each row in hand adds a listener.
  setMaxListeners(0, signal);
  let delivering: Promise<void> | undefined;
  /** Whether there may be new rows since the last query. */
  let again = false;

  const start = (row: Row): void => {
    const work = handle(row, { rows, handlers, signal, log, isNews }).then((isHandled) => {
      inHand.delete(work);
      if (isHandled) rows.drop(row.id);
      deliver();
    });
    inHand.add(work);
  };

  const takeAll = async (): Promise<void> => {
    while (again && !signal.aborted) {
      again = false;
      const taken = await rows.take(concurrency - inHand.size);
      taken.forEach(start);
    }
  };

  function deliver(): void {
    again = true;
    if (signal.aborted || delivering !== undefined || inHand.size >= concurrency) return;
    delivering = takeAll()
      .catch((error: unknown) => logRepeated(log, asUnavailable(error), UNREAD))
      .finally(() => {
        delivering = undefined;
        // A notice may have come after the last row was taken.
        if (again) deliver();
      });
  }

  const stop = async (): Promise<void> => {
    stopping.abort();
    await delivering;
    await Promise.all(inHand);
    await rows.take(0).catch((err: unknown) => log.warn({ err }, 'handled rows stay; they are handled again'));
  };
  return { deliver, stop };
}

interface Handling {
  readonly rows: ReturnType<typeof createRows>;
  readonly handlers: OutboxOptions['handlers'];
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly isNews: IsNews;
}

/** Whether the row was handled; otherwise it is retried. Never throws. */
async function handle(row: Row, { rows, handlers, signal, log, isNews }: Handling): Promise<boolean> {
  try {
    const handler = ownProperty(handlers, row.kind);
    if (handler === undefined) throw new Error(`no handler for rows of kind ${row.kind}`);
    await handler(row.subject_id, signal);
    return true;
  } catch (err) {
    const retryInMs = retryPause(row.attempts);
    const facts = { err, rowId: row.id, kind: row.kind, subjectId: row.subject_id, attempts: row.attempts, retryInMs };
    if (row.attempts < STUCK_AFTER) log.warn(facts, 'a row could not be handled; it is tried again');
    else if (isNews(row, err)) log.error({ ...facts, alarm: 'outbox_row_stuck' }, NOT_DONE);
    else log.warn(facts, NOT_DONE);
    // When this fails, too, the row is retried at the end of its lease.
    await rows
      .retry(row.id, retryInMs)
      .catch((error: unknown) => log.warn({ err: error }, 'a row was not rescheduled'));
    return false;
  }
}

const NOT_DONE = 'a row cannot be handled; its work is not done';
/** Services that are remembered. Further ones have an alarm for each row. */
const MOST_SERVICES = 1_000;

/** Whether a failure of a row needs an alarm: not if an alarm about each of its services is younger than the pause of a stuck row. */
type IsNews = (row: Row, error: unknown) => boolean;

function createAlarms(clock: Pick<Clock, 'monotonicMs'>): IsNews {
  const raised = new Map<string, number>();
  return (row, error) => {
    if (!(error instanceof ServiceFailure)) return true;
    const now = clock.monotonicMs();
    for (const [name, at] of raised) if (now - at >= STUCK_PAUSE_MS) raised.delete(name);
    const names = error.services.map((service) => JSON.stringify([row.kind, service]));
    const fresh = names.filter((name) => !raised.has(name));
    for (const name of fresh) if (raised.size < MOST_SERVICES) raised.set(name, now);
    return fresh.length > 0;
  };
}

const retryPause = (attempt: number) =>
  attempt >= STUCK_AFTER
    ? STUCK_PAUSE_MS
    : pauseMs({ attempt, minMs: RETRY_MIN_MS, maxMs: RETRY_MAX_MS, remainingMs: Infinity, random: Math.random() });

function createRows(options: OutboxOptions, kind: string | undefined) {
  const { pool, schema, table = 'outbox', limits, leaseMs = limits.outboxLeaseMs } = options;
  const ofKind = kind === undefined ? [] : [kind];
  const from = `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`;
  // Materialized, because the update may run a subquery again for each row and find other rows each time.
  const take = `
    WITH handled AS (DELETE FROM ${from} USING ${WITHOUT_FLUSH} WHERE id = ANY ($1::bigint[])),
    due AS MATERIALIZED (
      SELECT id FROM ${from} WHERE available_at <= clock_timestamp() AND id <> ALL ($1::bigint[])${kind === undefined ? '' : ' AND kind = $4'}
      ORDER BY urgency, available_at, id LIMIT $2 FOR UPDATE SKIP LOCKED)
    UPDATE ${from} SET attempts = attempts + 1, available_at = clock_timestamp() + $3 * interval '1 ms'
    FROM ${WITHOUT_FLUSH} WHERE id IN (SELECT id FROM due)
    RETURNING id::text, kind, subject_id, attempts`;
  /** Handled rows that still have to be deleted. */
  let handled: string[] = [];
  return {
    /** The next `take` deletes the row. */
    drop(id: string): void {
      handled.push(id);
    },
    async take(limit: number): Promise<Row[]> {
      // Mostly at a stop, which an absent database must not delay for no reason.
      if (limit === 0 && handled.length === 0) return [];
      const dropped = handled;
      handled = [];
      try {
        const name = `${schema}-${table}-take`;
        const statement = {
          name: [name, ...ofKind].join('-'),
          text: take,
          values: [dropped, limit, leaseMs, ...ofKind],
        };
        return (await pool.query<Row>(statement)).rows;
      } catch (error) {
        handled.push(...dropped);
        throw error;
      }
    },
    async retry(id: string, inMs: number): Promise<void> {
      await pool.query(`UPDATE ${from} SET available_at = clock_timestamp() + $2 * interval '1 ms' WHERE id = $1`, [
        id,
        inMs,
      ]);
    },
  };
}

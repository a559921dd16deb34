import { setMaxListeners } from 'node:events';
import { escapeIdentifier, type Pool } from 'pg';
import type { Logger } from 'pino';
import { pauseMs } from '../../workflows/domain/gated-call/deadlines.ts';
import { ownProperty } from '../../workflows/domain/canonical-json.ts';
import { listen } from './database/listen.ts';
import type { Running } from './lifecycle.ts';
import type { Timing } from './limits.ts';

const POLL_MS = 1_000;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 60_000;
/** A row that failed this often needs an operator. It is tried again from time to time. */
const STUCK_AFTER = 10;
const STUCK_PAUSE_MS = 600_000;

/**
 * Does what one kind of row asks for. It may be called again after it succeeded, so it must be idempotent. `stopping` aborts when the
 * outbox stops: a handler that takes long gives up then, and throws, so that the row comes back soon.
 */
export type OutboxHandler = (subjectId: string, stopping: AbortSignal) => Promise<void>;

export interface OutboxOptions extends Timing {
  readonly pool: Pool;
  /** Where to listen from: a direct connection, because a transaction pooler swallows notices. */
  readonly listenUrl: string;
  /** Schema of the table. */
  readonly schema: string;
  /** Its name, when it isn't `outbox`. */
  readonly table?: string;
  /** The right of one process to handle a row, in milliseconds; `outboxLeaseMs` when not given. */
  readonly leaseMs?: number;
  /** Channel on which committed rows are announced. */
  readonly channel: string;
  readonly handlers: Readonly<Record<string, OutboxHandler>>;
  /** Rows handled at the same time by this process. */
  readonly concurrency: number;
  readonly log: Logger;
}

/**
 * In the FROM of a statement: its commit does not wait for the disk. A lease or a deletion that a crash takes back means
 * that a row is handled once more, which handlers have to bear anyway.
 */
const WITHOUT_FLUSH = "set_config('synchronous_commit', 'off', true)";

interface Row {
  readonly id: string;
  readonly kind: string;
  readonly subject_id: string;
  readonly attempts: number;
}

/**
 * Hands the rows of an outbox table to their handlers, the urgent ones first, each at least once, in any number of
 * processes. A notice starts the work at once; a round every second finds what a lost notice left. A row whose handler
 * throws comes back after a pause that doubles up to a minute, and after ten failures every ten minutes, with an alarm; a row of an unknown kind too,
 * because a newer version of the program may know it. `stop` waits for what is in hand.
 */
export async function startOutbox(options: OutboxOptions): Promise<Running> {
  const { schema, table = 'outbox', listenUrl: url, channel, clock, limits } = options;
  const log = options.log.child({ outbox: `${schema}.${table}` });
  const dispatcher = createDispatcher(options, log);
  const listener = await listen({ url, channel, onNotice: dispatcher.deliver, clock, limits, log });
  const stopPolling = clock.every(POLL_MS, dispatcher.deliver);
  dispatcher.deliver();
  return {
    name: `${schema}.${table}`,
    async stop() {
      stopPolling();
      await Promise.all([dispatcher.stop(), listener.stop()]);
    },
  };
}

function createDispatcher(options: OutboxOptions, log: Logger) {
  const { handlers, concurrency } = options;
  const rows = createRows(options);
  const inHand = new Set<Promise<void>>();
  const stopping = new AbortController();
  const { signal } = stopping;
  // As many may listen to it as there are rows in hand.
  setMaxListeners(0, signal);
  let delivering: Promise<void> | undefined;
  /** Whether there may be rows that were not searched for yet. */
  let again = false;

  const start = (row: Row): void => {
    const work = handle(row, { rows, handlers, signal, log }).then((isHandled) => {
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
      .catch((err: unknown) => log.warn({ err }, 'outbox not readable'))
      .finally(() => {
        delivering = undefined;
        // A notice that came after the last row was taken and before this line.
        if (again) deliver();
      });
  }

  const stop = async (): Promise<void> => {
    stopping.abort();
    await delivering;
    await Promise.all(inHand);
    await rows.take(0).catch((err: unknown) => log.warn({ err }, 'rows that were handled will be handled again'));
  };
  return { deliver, stop };
}

interface Handling {
  readonly rows: ReturnType<typeof createRows>;
  readonly handlers: OutboxOptions['handlers'];
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Whether the row has been handled; otherwise it comes back. Never throws. */
async function handle(row: Row, { rows, handlers, signal, log }: Handling): Promise<boolean> {
  try {
    const handler = ownProperty(handlers, row.kind);
    if (handler === undefined) throw new Error(`no handler for rows of kind ${row.kind}`);
    await handler(row.subject_id, signal);
    return true;
  } catch (err) {
    const retryInMs = retryPause(row.attempts);
    const facts = { err, rowId: row.id, kind: row.kind, subjectId: row.subject_id, attempts: row.attempts, retryInMs };
    if (row.attempts < STUCK_AFTER) log.warn(facts, 'row not handled');
    else log.error({ ...facts, alarm: 'outbox_row_stuck' }, 'a row cannot be handled; what it asks for is not done');
    // When this fails too, the row comes back at the end of its lease.
    await rows.retry(row.id, retryInMs).catch((error: unknown) => log.warn({ err: error }, 'row not rescheduled'));
    return false;
  }
}

const retryPause = (attempt: number) =>
  attempt >= STUCK_AFTER
    ? STUCK_PAUSE_MS
    : pauseMs({ attempt, minMs: RETRY_MIN_MS, maxMs: RETRY_MAX_MS, remainingMs: Infinity, random: Math.random() });

function createRows({ pool, schema, table = 'outbox', limits, leaseMs = limits.outboxLeaseMs }: OutboxOptions) {
  const from = `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`;
  // Materialized: as a part of the update it may be run again for each row, and each time it finds others.
  const take = `
    WITH handled AS (DELETE FROM ${from} USING ${WITHOUT_FLUSH} WHERE id = ANY ($1::bigint[])),
    due AS MATERIALIZED (
      SELECT id FROM ${from} WHERE available_at <= clock_timestamp() AND id <> ALL ($1::bigint[])
      ORDER BY urgency, available_at, id LIMIT $2 FOR UPDATE SKIP LOCKED)
    UPDATE ${from} SET attempts = attempts + 1, available_at = clock_timestamp() + $3 * interval '1 ms'
    FROM ${WITHOUT_FLUSH} WHERE id IN (SELECT id FROM due)
    RETURNING id::text, kind, subject_id, attempts`;
  /** Handled, and still to be deleted. */
  let handled: string[] = [];
  return {
    /** Has a row deleted that was handled, on the way of the next `take`. */
    drop(id: string): void {
      handled.push(id);
    },
    async take(limit: number): Promise<Row[]> {
      // When it stops, mostly: a database that is away must not hold that up for nothing.
      if (limit === 0 && handled.length === 0) return [];
      const dropped = handled;
      handled = [];
      try {
        const statement = { name: `${schema}-${table}-take`, text: take, values: [dropped, limit, leaseMs] };
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

import type { Pool, QueryResultRow } from 'pg';
import type { Clock } from '../../apps/shared/clock.ts';
import { functionCall } from '../../apps/shared/database/function-call.ts';
import { asUnavailable, CountersignError } from '../../workflows/domain/errors.ts';
import { pauseMs } from '../../workflows/domain/gated-call/deadlines.ts';
import type { GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import type { CallSeals, Seals } from '../../workflows/domain/gated-call/sealing.ts';

/**
 * Runs one prepared statement and answers its rows. Trouble that passes becomes `ERR_DATABASE_UNAVAILABLE`, never an
 * answer about the call: a timeout is not a lost claim. Whether the statement was committed is then not known.
 */
export async function query<Row extends QueryResultRow>(
  pool: Pool,
  name: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  try {
    return (await pool.query<Row>({ name, text, values })).rows;
  } catch (error) {
    throw asUnavailable(error);
  }
}

/** Like `query`, for statements that give exactly one row. */
export async function queryOne<Row extends QueryResultRow>(
  pool: Pool,
  name: string,
  text: string,
  values: unknown[] = [],
): Promise<Row> {
  const [row] = await query<Row>(pool, name, text, values);
  if (row === undefined) throw new Error(`statement ${name} gave no row`);
  return row;
}

const PAUSE_MIN_MS = 50;
const PAUSE_MAX_MS = 1_000;

/**
 * Runs a statement again while the database is away, for as long as this; then its last failure is thrown. Only for
 * what nobody else repeats with the same values, and only for statements that find what an earlier run of theirs has
 * committed: the answer may have been lost, not the commit.
 */
export async function persist<T>(run: () => Promise<T>, withinMs: number, clock: Clock): Promise<T> {
  const end = clock.monotonicMs() + withinMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      const isAway = error instanceof CountersignError && error.code === 'ERR_DATABASE_UNAVAILABLE';
      const remainingMs = end - clock.monotonicMs();
      if (!isAway || remainingMs <= 0) throw error;
      const bounds = { minMs: PAUSE_MIN_MS, maxMs: PAUSE_MAX_MS, remainingMs };
      await clock.after(pauseMs({ attempt, ...bounds, random: Math.random() }));
    }
  }
}

/** Answers this instead when the database is away for a while; any other failure is thrown on. */
export const ifAway =
  <T>(instead: T) =>
  (error: unknown): T => {
    if (error instanceof CountersignError && error.retryable) return instead;
    throw error;
  };

const IS_GONE = 'SELECT NOT EXISTS (SELECT FROM gateway.gated_call WHERE id = $1 AND forgotten_at IS NULL) AS "isGone"';

/**
 * Whether nothing is left of a gated call that could be acted on: its retention is over and it was forgotten, or its row
 * was deleted. No such call ever comes back, so whatever is still to be done for it never will be. A call of which only a
 * part is missing is not gone: it was tampered with.
 */
export async function isGone(pool: Pool, gatedCallId: string): Promise<boolean> {
  return (await queryOne<{ isGone: boolean }>(pool, 'is-gone', IS_GONE, [gatedCallId])).isGone;
}

/** The database's clock, in milliseconds since 1970. Throws `ERR_DATABASE_UNAVAILABLE`. */
export async function readDatabaseClock(pool: Pool): Promise<number> {
  const text = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms';
  return (await queryOne<{ ms: number }>(pool, 'database-clock', text)).ms;
}

/** In the FROM of a statement: its commit does not wait for the disk. */
export const WITHOUT_FLUSH = "set_config('synchronous_commit', 'off', true)";

/** What every step needs. */
export interface StepContext {
  readonly pool: Pool;
  readonly seals: Seals;
  readonly clock: Clock;
  /** How long an ended call is kept for `tasks/get`. */
  readonly retentionMs: number;
  /** How long after its grant an approval can be used that names a later end. Default: a day. */
  readonly approvalUseMs?: number;
}

export const APPROVAL_USE_MS = 24 * 3_600_000;

/** The data keys of a call, which whoever looked at it a moment ago still has. */
export async function sealsOf({ pool, seals }: StepContext, gatedCallId: string): Promise<CallSeals> {
  const known = seals.recall(gatedCallId);
  if (known !== undefined) return known;
  const text = 'SELECT call_key AS call, record_key AS record FROM gateway.data_key WHERE gated_call_id = $1';
  return seals.forCall(gatedCallId, await queryOne(pool, 'data-keys', text, [gatedCallId]));
}

/** Calls a function of the schema `gateway` that answers the state a call is in afterwards. */
export async function stateAfter(
  pool: Pool,
  statement: string,
  [name, parameters]: readonly [name: string, parameters: Readonly<Record<string, unknown>>],
): Promise<GatedCallState> {
  const { text, values } = functionCall(`gateway.${name}`, parameters);
  return (await queryOne<{ state: GatedCallState }>(pool, statement, `SELECT ${text} AS state`, values)).state;
}

/** Carries out the deadline of a call that has passed one, and answers its state. */
export const expire = ({ pool, retentionMs }: Pick<StepContext, 'pool' | 'retentionMs'>, gatedCallId: string) =>
  stateAfter(pool, 'expire', ['expire_gated_call', { call: gatedCallId, retention_ms: retentionMs }]);

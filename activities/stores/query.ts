import type { Pool, QueryResultRow } from 'pg';
import type { Clock } from '../../apps/shared/clock.ts';
import { functionCall } from '../../apps/shared/database/function-call.ts';
import { query } from '../../apps/shared/database/query.ts';
import { isDatabaseAway } from '../../workflows/domain/errors.ts';
import { pauseMs } from '../../workflows/domain/gated-call/deadlines.ts';
import type { GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import type { CallSeals, Seals } from '../../workflows/domain/gated-call/sealing.ts';

/** Like `query`, for statements that give exactly one row. */
export async function queryOne<Row extends QueryResultRow>(...statement: Parameters<typeof query>): Promise<Row> {
  const [row] = await query<Row>(...statement);
  if (row === undefined) throw new Error(`statement ${statement[1]} gave no row`);
  return row;
}

/**
 * Calls a function of the schema `gateway` that answers one value: mostly the state that a call is in afterwards. By default the
 * statement has the name of the function.
 */
export async function callFunction<Answer = GatedCallState>(
  pool: Pool,
  statement: string,
  parameters: Readonly<Record<string, unknown>>,
  name = statement.replaceAll('-', '_'),
): Promise<Answer> {
  const { text, values } = functionCall(`gateway.${name}`, parameters);
  return (await queryOne<{ answer: Answer }>(pool, statement, `SELECT ${text} AS answer`, values)).answer;
}

const PAUSE_MIN_MS = 50;
const PAUSE_MAX_MS = 1_000;

/**
 * Runs a statement again while the database is away, for as long as this; then its last failure is thrown. Only for values that
 * no other process repeats, and only for statements that find what an earlier run of theirs has committed: the answer may have
 * been lost, not the commit.
 */
export async function persist<T>(run: () => Promise<T>, withinMs: number, clock: Clock): Promise<T> {
  const end = clock.monotonicMs() + withinMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      const remainingMs = end - clock.monotonicMs();
      if (!isDatabaseAway(error) || remainingMs <= 0) throw error;
      const bounds = { minMs: PAUSE_MIN_MS, maxMs: PAUSE_MAX_MS, remainingMs };
      await clock.after(pauseMs({ attempt, ...bounds, random: Math.random() }));
    }
  }
}

/** The database's clock, in milliseconds since 1970. Throws `ERR_DATABASE_UNAVAILABLE`. */
export async function readDatabaseClock(pool: Pool): Promise<number> {
  const text = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms';
  return (await queryOne<{ ms: number }>(pool, 'database-clock', text)).ms;
}

/** In the FROM of a statement: its commit does not wait for the disk. */
export const WITHOUT_FLUSH = "set_config('synchronous_commit', 'off', true)";

export interface StepContext {
  readonly pool: Pool;
  readonly seals: Seals;
  readonly clock: Clock;
  /** How long an ended call is kept for `tasks/get`. */
  readonly retentionMs: number;
  /** How long after its grant an approval can be used that names a later end. Default: a day. */
  readonly approvalUseMs?: number;
}

/** The data keys of a call. The process that read the call a moment ago still has them. */
export async function sealsOf({ pool, seals }: StepContext, gatedCallId: string): Promise<CallSeals> {
  const known = seals.recall(gatedCallId);
  if (known !== undefined) return known;
  const text = 'SELECT call_key AS call, record_key AS record FROM gateway.data_key WHERE gated_call_id = $1';
  return seals.forCall(gatedCallId, await queryOne(pool, 'data-keys', text, [gatedCallId]));
}

/** Carries out the deadline of a call that has passed one, and answers its state. */
export const expire = ({ pool, retentionMs }: Pick<StepContext, 'pool' | 'retentionMs'>, gatedCallId: string) =>
  callFunction(pool, 'expire', { call: gatedCallId, retention_ms: retentionMs }, 'expire_gated_call');

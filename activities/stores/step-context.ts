import type { Pool } from 'pg';
import type { Clock } from '../../apps/shared/clock.ts';
import type { GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import type { CallSeals, Seals } from '../../workflows/domain/gated-call/sealing.ts';
import { queryOne } from './query.ts';

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

/** Runs a statement that answers the state a call is in afterwards. */
export async function stateAfter(pool: Pool, name: string, text: string, values: unknown[]): Promise<GatedCallState> {
  return (await queryOne<{ state: GatedCallState }>(pool, name, text, values)).state;
}

/** Carries out the deadline of a call that has passed one, and answers its state. */
export const expire = ({ pool, retentionMs }: Pick<StepContext, 'pool' | 'retentionMs'>, gatedCallId: string) =>
  stateAfter(pool, 'expire', 'SELECT gateway.expire_gated_call($1, $2)::text AS state', [gatedCallId, retentionMs]);

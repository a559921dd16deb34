import type { Pool } from 'pg';
import { canonicalJson } from '../../workflows/domain/canonical-json.ts';
import type { EndReason, GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import type { Seals } from '../../workflows/domain/gated-call/sealing.ts';
import type { GatedCallView, RecentRequest } from '../../workflows/domain/ports.ts';
import { expire, ifAway, query } from './query.ts';
import { openQuestion, type SealedQuestion } from './questions.ts';

/** A row of the view `gateway.task`. */
export interface TaskRow {
  readonly id: string;
  readonly task_id: string;
  readonly state: GatedCallState;
  readonly reason: EndReason | null;
  readonly tool: string;
  readonly created_at: Date;
  readonly last_updated_at: Date;
  readonly retain_until: Date;
  readonly sealed_result: string | null;
  readonly call_key: string | null;
  readonly outcome_ref: string | null;
  /** The deadline of its state has passed, and nobody has carried that out yet. */
  readonly due: boolean;
  /** It was carried out, and its owner has not been told how it ended. */
  readonly unread: boolean;
  readonly questions: readonly SealedQuestion[] | null;
}

export function taskViewOf(row: TaskRow, seals: Seals): GatedCallView {
  const keys = seals.forCall(row.id, { call: row.call_key, record: null });
  return {
    gatedCallId: row.id,
    taskId: row.task_id,
    requestRef: requestRefOf(row.id, seals),
    state: row.state,
    tool: row.tool,
    createdAt: row.created_at.toISOString(),
    lastUpdatedAt: row.last_updated_at.toISOString(),
    retainUntil: row.retain_until.toISOString(),
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.sealed_result !== null && { result: keys.open('call_result.sealed_result', row.sealed_result) }),
    ...(row.questions !== null && { questions: row.questions.map((one) => openQuestion(keys, one)) }),
    ...(row.outcome_ref !== null && { outcomeRef: row.outcome_ref }),
  };
}

/**
 * What the owner of a gated call knows it by. Each handle is derived from the one before with the digest key: the id of the
 * call, its request reference, its task id. So a reference leads to its call without being stored, and nobody who has one
 * handle can make another of it.
 */
export const requestRefOf = (gatedCallId: string, seals: Pick<Seals, 'digest'>) =>
  `req_${derived(seals, ['request', gatedCallId])}`;

/** Of any text: one that is no reference leads to a task that does not exist. */
export const taskIdOf = (requestRef: string, seals: Pick<Seals, 'digest'>) =>
  `tsk_${derived(seals, ['task', requestRef])}`;

const HEX_DIGITS_OF_128_BITS = 32;

const derived = (seals: Pick<Seals, 'digest'>, parts: readonly string[]) =>
  seals.digest(canonicalJson(parts)).slice(-HEX_DIGITS_OF_128_BITS);

interface RecentRow {
  readonly id: string;
  readonly state: GatedCallState;
  readonly tool: string;
  readonly created_at: Date;
  readonly age_seconds: number;
  readonly due: boolean;
}

const RECENT = `
  SELECT id, state, tool, created_at, due, floor(extract(epoch FROM clock_timestamp() - created_at))::int AS age_seconds
  FROM gateway.task
  WHERE owner_key = $1 AND state <> 'preparing' AND (ended_at IS NULL OR retain_until > clock_timestamp())
  ORDER BY created_at DESC LIMIT $2`;

/** An owner's newest requests. One past a deadline is ended before it is shown, as it is when it is looked at by itself. */
export async function recentRequests(
  pool: Pool,
  { seals, retentionMs }: { readonly seals: Seals; readonly retentionMs: number },
  owner: string,
  limit: number,
): Promise<readonly RecentRequest[]> {
  const read = () => query<RecentRow>(pool, 'recent', RECENT, [seals.digest(owner), limit]);
  let rows = await read();
  const due = rows.filter((row) => row.due);
  for (const { id } of due) await expire({ pool, retentionMs }, id).catch(ifAway(undefined));
  if (due.length > 0) rows = await read();
  return rows.map((row) => ({
    requestRef: requestRefOf(row.id, seals),
    state: row.state,
    tool: row.tool,
    createdAt: row.created_at.toISOString(),
    ageSeconds: row.age_seconds,
  }));
}

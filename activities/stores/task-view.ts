import type { EndReason, GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import type { Seals } from '../../workflows/domain/gated-call/sealing.ts';
import type { GatedCallView } from '../../workflows/domain/ports.ts';
import { requestRefOf } from './handles.ts';
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

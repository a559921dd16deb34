import type { EndReason, GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import type { GatedCallView } from '../../workflows/domain/ports.ts';

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
  readonly result: string | null;
  readonly outcome_ref: string | null;
  /** The deadline of its state has passed, and nobody has carried that out yet. */
  readonly due: boolean;
}

export function taskViewOf(row: TaskRow): GatedCallView {
  return {
    gatedCallId: row.id,
    taskId: row.task_id,
    state: row.state,
    tool: row.tool,
    createdAt: row.created_at.toISOString(),
    lastUpdatedAt: row.last_updated_at.toISOString(),
    retainUntil: row.retain_until.toISOString(),
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.result !== null && { result: row.result }),
    ...(row.outcome_ref !== null && { outcomeRef: row.outcome_ref }),
  };
}

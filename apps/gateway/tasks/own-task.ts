import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { GatedCalls, GatedCallView } from '../../../workflows/domain/ports.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { taskParams } from '../wire/schemas.ts';

/** One request about a task. */
export interface TaskRequest {
  readonly caller: Principal;
  readonly params: unknown;
  /** Whether this very request declares that its client can show forms. */
  readonly acceptsForms: boolean;
  /** What it brings, by the keys of questions. */
  readonly inputResponses: ReadonlyMap<string, unknown>;
}

/**
 * The caller's task that the parameters name. Unknown, no longer kept and somebody else's are one answer, so that a
 * task id tells nothing to those it does not belong to.
 */
export async function ownTask(
  gatedCalls: Pick<GatedCalls, 'findTask' | 'ownerOf'>,
  caller: Principal,
  params: unknown,
): Promise<GatedCallView> {
  const parsed = taskParams.safeParse(params);
  if (!parsed.success) throw new CountersignError('ERR_ARGUMENTS_INVALID', 'taskId must be a text');
  const view = await gatedCalls.findTask(parsed.data.taskId, gatedCalls.ownerOf(caller));
  if (view === undefined) throw new CountersignError('ERR_GATED_CALL_NOT_FOUND', 'no such task of this caller');
  return view;
}

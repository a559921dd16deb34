import { requestApproval, type ApprovalRequestDeps, type RequestableCall } from './input/request-approval.ts';
import type { ToolCall, ToolCallAnswer } from './tools/tool-call.ts';

export type LadderDeps = ApprovalRequestDeps;

/** Answers a call that an approval could cure, on the caller's rung. `undefined`: the decision has to be taken again. */
export async function answerHeld(
  deps: LadderDeps,
  call: ToolCall,
  denied: RequestableCall,
): Promise<ToolCallAnswer | undefined> {
  if (call.rung === 'words') return { kind: 'needs_tasks' };
  const answer = await requestApproval(deps, call, denied);
  return answer?.kind === 'task' && call.rung === 'reference' ? { kind: 'requested', view: answer.view } : answer;
}

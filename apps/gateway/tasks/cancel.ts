import type { Result } from '@modelcontextprotocol/server';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import { ownTask, type TaskRequest } from './own-task.ts';

/**
 * `tasks/cancel`: competes with the execution claim. The acknowledgement is the same whether it won, lost or came after
 * the end, because the fence alone decides (SEP-2848, Cancellation); `tasks/get` tells which.
 */
export async function cancelTask(
  deps: { gatedCalls: Pick<GatedCalls, 'findTask' | 'ownerOf' | 'cancel'> },
  { caller, params }: TaskRequest,
): Promise<Result> {
  const { gatedCallId } = await ownTask(deps.gatedCalls, caller, params);
  await deps.gatedCalls.cancel(gatedCallId);
  return { resultType: 'complete' };
}

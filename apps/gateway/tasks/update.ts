import type { Result } from '@modelcontextprotocol/server';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { ownTask } from './own-task.ts';

/**
 * `tasks/update`: acknowledged. No task asks for input, so every answer is one to a question that is not outstanding,
 * and those are ignored (SEP-2663, Task update).
 */
export async function updateTask(
  deps: { gatedCalls: Pick<GatedCalls, 'findTask'> },
  caller: Principal,
  params: unknown,
): Promise<Result> {
  await ownTask(deps.gatedCalls, caller, params);
  return { resultType: 'complete' };
}

import type { Result } from '@modelcontextprotocol/server';
import type { TaskMethod } from '../../../workflows/domain/relay-port.ts';
import { askAboutTask, type RelayedTask, type RelayedTaskDeps, type TaskAsker } from '../relay/relayed-tasks.ts';
import { renderRelayedTask } from '../wire/render-relayed.ts';
import { missingCapabilities } from '../wire/sdk-overlay.ts';

/** `tasks/get`, `tasks/update` and `tasks/cancel` of a task that an upstream opened. @see SEP-2663 */
export async function relayTaskMethod(
  deps: RelayedTaskDeps,
  task: RelayedTask,
  method: TaskMethod,
  asker: TaskAsker,
): Promise<Result> {
  const answer = await askAboutTask(deps, task, method, asker);
  if (answer.kind === 'done') return { resultType: 'complete' };
  if (answer.kind === 'undeclared') throw missingCapabilities(answer.requiredCapabilities);
  return renderRelayedTask(task.taskId, answer.task);
}

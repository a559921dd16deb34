import { WorkflowNotFoundError, type Client, type WorkflowExecutionDescription } from '@temporalio/client';
import type { Within } from './watching.ts';

/** Tries of one workflow task, each of them some ten seconds, after which it counts as stuck. */
const STUCK_AFTER_TRIES = 4;

/** What the engine says of the workflow with this id. Undefined when there is none: its index may list one that is gone by now. */
export const describe = (client: Client, within: Within, workflowId: string) =>
  within(() => client.workflow.getHandle(workflowId).describe()).catch(unlessNotFound);

/**
 * Ends a workflow that cannot go on, and has another one started in its place: what it is for is a row, which is the truth,
 * so the history can be given up. Answers whether there was need to.
 */
export async function replaceStuck(
  client: Client,
  within: Within,
  described: WorkflowExecutionDescription,
  restart: () => Promise<void>,
): Promise<boolean> {
  if (!isStuck(described)) return false;
  // Of two who see it stuck, the second one must not end the workflow that the first one started.
  const run = client.workflow.getHandle(described.workflowId, described.runId);
  await within(() => run.terminate('stuck in one task')).catch(unlessNotFound);
  await restart();
  return true;
}

/**
 * Whether its history does not fit the code that is to go on from it, so that the task fails for ever: after code that
 * does not fit was deployed, or where the SDK takes a history apart in another way than when it was made (it may when
 * hundreds of signals come at once). Not while an activity runs: the tool is called.
 */
function isStuck({ raw }: WorkflowExecutionDescription): boolean {
  const tries = raw.pendingWorkflowTask?.attempt ?? 0;
  return tries >= STUCK_AFTER_TRIES && (raw.pendingActivities ?? []).length === 0;
}

function unlessNotFound(error: unknown): undefined {
  if (!(error instanceof WorkflowNotFoundError)) throw error;
}

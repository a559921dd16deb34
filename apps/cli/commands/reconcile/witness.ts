import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { gatedCallWorkflowId } from '../../../../workflows/ids.ts';

/** Name of the one step that sends something. */
const SENDING_STEP = 'invokeTool';

/**
 * What the engine remembers of a call. `claimed`: the step that sends was scheduled, so the tool may have run. `unclaimed`:
 * it was not, in any run there is a history of. `unknown`: there is no history.
 */
export async function askWitness(client: Client, gatedCallId: string): Promise<'claimed' | 'unclaimed' | 'unknown'> {
  try {
    const runs = client.workflow.list({ query: `WorkflowId = '${gatedCallWorkflowId(gatedCallId)}'` });
    const seen: string[] = [];
    for await (const { workflowId, runId } of runs) {
      seen.push(runId);
      const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      const sends = events?.some(
        (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === SENDING_STEP,
      );
      if (sends) return 'claimed';
    }
    return seen.length > 0 ? 'unclaimed' : 'unknown';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'unknown';
    throw error;
  }
}

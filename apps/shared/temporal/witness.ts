import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { gatedCallWorkflowId } from '../../../workflows/ids.ts';

/** Name of the one step that sends something. */
const SENDING_STEP = 'invokeTool';

/**
 * What the engine remembers of a call. `claimed`: the step that sends was scheduled, so the tool may have run. `ended`: it
 * was not, and the workflow came to its end, as it does when the call has ended. `unclaimed`: neither, in any run there is
 * a history of. `unknown`: there is no history.
 */
export type Witness = 'claimed' | 'ended' | 'unclaimed' | 'unknown';

/** Asks the engine for every run there was for the call, but for `exceptRunId`. Runs are found by its index, which lags by seconds. */
export async function askWitness(client: Client, gatedCallId: string, exceptRunId?: string): Promise<Witness> {
  try {
    const runs = client.workflow.list({ query: `WorkflowId = '${gatedCallWorkflowId(gatedCallId)}'` });
    let said: Witness = 'unknown';
    for await (const { workflowId, runId, status } of runs) {
      if (runId === exceptRunId) continue;
      const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      const sends = events?.some(
        (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === SENDING_STEP,
      );
      if (sends) return 'claimed';
      if (status.name === 'COMPLETED') said = 'ended';
      else if (said === 'unknown') said = 'unclaimed';
    }
    return said;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'unknown';
    throw error;
  }
}

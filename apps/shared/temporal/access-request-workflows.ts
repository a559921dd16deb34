import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import type { accessRequestWorkflow } from '../../../workflows/access-request.workflow.ts';
import { accessRequestWorkflowId } from '../../../workflows/ids.ts';
import { pokeSignal } from '../../../workflows/messages.ts';

export type { AccessRequestSteps } from '../../../workflows/access-request-steps.ts';

/** Wakes the workflow of an access request. */
export interface AccessRequestWorkflows {
  /** Wakes the workflow; starts it first when none runs and the last one did not come to its end. May be repeated. */
  wake(accessRequestId: string): Promise<void>;
}

const REQUEST_MS = 5_000;

export function createAccessRequestWorkflows(client: Client, taskQueue: string): AccessRequestWorkflows {
  return {
    async wake(accessRequestId) {
      const options = {
        workflowId: accessRequestWorkflowId(accessRequestId),
        taskQueue,
        args: [{ accessRequestId }] as Parameters<typeof accessRequestWorkflow>,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY' as const,
        signal: pokeSignal,
      };
      await client
        .withDeadline(Date.now() + REQUEST_MS, () =>
          client.workflow.signalWithStart<typeof accessRequestWorkflow>('accessRequestWorkflow', options),
        )
        .catch(unlessFinished);
    },
  };
}

/** A workflow that ran to its end has nothing left to do. */
function unlessFinished(error: unknown): void {
  if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
}

import type { Client } from '@temporalio/client';
import type { accessRequestWorkflow } from '../../../workflows/access-request.workflow.ts';
import { accessRequestIdOf, accessRequestWorkflowId } from '../../../workflows/ids.ts';
import { pokeSignal } from '../../../workflows/messages.ts';
import type { Timing } from '../limits.ts';
import type { RunningWorkflows } from '../maintenance/reconciler.ts';
import { describe, replaceStuck } from './stuck.ts';
import { boundedBy, ignoringFinished, watching } from './watching.ts';

export type { AccessRequestSteps } from '../../../workflows/access-request-steps.ts';

/** Wakes and starts the workflows of access requests. Both may be repeated: one request has one workflow that runs. */
export interface AccessRequestWorkflows extends RunningWorkflows {
  /** Wakes the workflow; starts it first when none runs and the last one did not come to its end. */
  wake(accessRequestId: string): Promise<void>;
  /** Starts the workflow, whatever became of those before it. Does nothing while one runs. */
  restart(accessRequestId: string): Promise<void>;
  /** Puts another workflow in the place of one that runs and cannot go on. Answers whether there was need to. */
  rouse(accessRequestId: string): Promise<boolean>;
}

export function createAccessRequestWorkflows(
  client: Client,
  { taskQueue, ...time }: Timing & { readonly taskQueue: string },
): AccessRequestWorkflows {
  const within = boundedBy(client, time);
  const options = (accessRequestId: string) => ({
    workflowId: accessRequestWorkflowId(accessRequestId),
    taskQueue,
    args: [{ accessRequestId }] as Parameters<typeof accessRequestWorkflow>,
  });
  async function restart(accessRequestId: string): Promise<void> {
    const request = {
      ...options(accessRequestId),
      workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
      workflowIdConflictPolicy: 'USE_EXISTING' as const,
    };
    await within(() => client.workflow.start<typeof accessRequestWorkflow>('accessRequestWorkflow', request));
  }
  return {
    async wake(accessRequestId) {
      const request = {
        ...options(accessRequestId),
        workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY' as const,
        signal: pokeSignal,
      };
      await ignoringFinished(
        within(() => client.workflow.signalWithStart<typeof accessRequestWorkflow>('accessRequestWorkflow', request)),
      );
    },
    restart,
    async rouse(accessRequestId) {
      const described = await describe(client, within, accessRequestWorkflowId(accessRequestId));
      return described !== undefined && replaceStuck(client, within, described, () => restart(accessRequestId));
    },
    ...watching(client, { workflowType: 'accessRequestWorkflow', taskQueue, idOf: accessRequestIdOf, within }),
  };
}

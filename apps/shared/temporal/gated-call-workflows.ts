import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import { pokeSignal } from '../../../workflows/gated-call.messages.ts';
import type { gatedCallWorkflow } from '../../../workflows/gated-call.workflow.ts';
import { gatedCallWorkflowId } from '../../../workflows/ids.ts';

/** Starts and wakes the workflows of gated calls. Both may be repeated: one call has one workflow. */
export interface GatedCallWorkflows {
  start(gatedCallId: string): Promise<void>;
  /** Wakes the workflow; starts it first when it does not run. */
  poke(gatedCallId: string): Promise<void>;
}

/**
 * `firstLookMs`: when the workflow looks for a resolution by itself for the first time. Until then it rests in the engine
 * without a single task, so that opening a call costs one write there; a poke ends the rest at once.
 */
export function createGatedCallWorkflows(
  client: Client,
  { taskQueue, firstLookMs }: { taskQueue: string; firstLookMs: number },
): GatedCallWorkflows {
  const options = (gatedCallId: string) => ({
    workflowId: gatedCallWorkflowId(gatedCallId),
    taskQueue,
    args: [{ gatedCallId }] as Parameters<typeof gatedCallWorkflow>,
    workflowIdConflictPolicy: 'USE_EXISTING' as const,
    workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
  });
  return {
    async start(gatedCallId) {
      await ignoringFinished(
        client.workflow.start<typeof gatedCallWorkflow>('gatedCallWorkflow', {
          ...options(gatedCallId),
          startDelay: firstLookMs,
        }),
      );
    },
    async poke(gatedCallId) {
      await ignoringFinished(
        client.workflow.signalWithStart<typeof gatedCallWorkflow>('gatedCallWorkflow', {
          ...options(gatedCallId),
          signal: pokeSignal,
        }),
      );
    },
  };
}

/** A workflow that ran to its end has nothing left to do, so it need not be started or woken. */
async function ignoringFinished(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

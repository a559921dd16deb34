import type { Client } from '@temporalio/client';
import { pokeSignal } from '../../../workflows/messages.ts';
import type { gatedCallWorkflow } from '../../../workflows/gated-call.workflow.ts';
import { gatedCallIdOf, gatedCallWorkflowId } from '../../../workflows/ids.ts';
import type { Timing } from '../limits.ts';
import type { RunningWorkflows } from '../maintenance/reconciler.ts';
import { describe, replaceStuck } from './stuck.ts';
import { boundedBy, ignoringFinished, watching } from './watching.ts';

/** Starts and wakes the workflows of gated calls. All may be repeated: one call has one workflow that runs. */
export interface GatedCallWorkflows extends RunningWorkflows {
  /** Starts the workflow, also when one before it did not come to its end. */
  start(gatedCallId: string): Promise<void>;
  /** Wakes the workflow; starts it first when none runs and the last one did not come to its end. */
  poke(gatedCallId: string): Promise<void>;
  /**
   * Starts the workflow, at once or to rest as others do, also after one that was terminated or failed. Does nothing while one
   * runs. `finished`: none was started, because the last one came to its end, and it does so only when the call has ended.
   */
  restart(gatedCallId: string, when: 'at once' | 'resting'): Promise<'running' | 'finished'>;
  /** Starts the workflow at once, also after one that came to its end. */
  startAnew(gatedCallId: string): Promise<void>;
  /**
   * Sees to a workflow that runs though its call needs nobody: wakes one that has rested since its start, and puts another one
   * in the place of one that cannot go on. Answers whether there was need to.
   */
  rouse(gatedCallId: string): Promise<boolean>;
}

/**
 * `restMs`: how long a workflow rests in the engine at most, which is as long as a call can wait for a resolution. It rests
 * without a single task, so that opening a call costs one write there and waiting nothing; a poke ends the rest at once.
 */
export function createGatedCallWorkflows(
  client: Client,
  { taskQueue, restMs, ...time }: Timing & { taskQueue: string; restMs: number },
): GatedCallWorkflows {
  const within = boundedBy(client, time);
  const options = (gatedCallId: string) => ({
    workflowId: gatedCallWorkflowId(gatedCallId),
    taskQueue,
    args: [{ gatedCallId }] as Parameters<typeof gatedCallWorkflow>,
    workflowIdConflictPolicy: 'USE_EXISTING' as const,
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY' as const,
  });
  const start = (gatedCallId: string, more: { startDelay: number; workflowIdReusePolicy?: 'ALLOW_DUPLICATE' }) =>
    ignoringFinished(
      within(() =>
        client.workflow.start<typeof gatedCallWorkflow>('gatedCallWorkflow', { ...options(gatedCallId), ...more }),
      ),
    );
  const poke = async (gatedCallId: string) =>
    void (await ignoringFinished(
      within(() =>
        client.workflow.signalWithStart<typeof gatedCallWorkflow>('gatedCallWorkflow', {
          ...options(gatedCallId),
          signal: pokeSignal,
        }),
      ),
    ));
  const restart: GatedCallWorkflows['restart'] = (gatedCallId, when) =>
    start(gatedCallId, { startDelay: when === 'resting' ? restMs : 0 });
  return {
    start: async (gatedCallId) => void (await start(gatedCallId, { startDelay: restMs })),
    restart,
    startAnew: async (gatedCallId) =>
      void (await start(gatedCallId, { startDelay: 0, workflowIdReusePolicy: 'ALLOW_DUPLICATE' })),
    poke,
    async rouse(gatedCallId) {
      const described = await describe(client, within, gatedCallWorkflowId(gatedCallId));
      if (described === undefined) return false;
      // Its start is the only thing that ever happened to it.
      if (described.historyLength === 1) {
        await poke(gatedCallId);
        return true;
      }
      return replaceStuck(client, within, described, async () => void (await restart(gatedCallId, 'at once')));
    },
    ...watching(client, { workflowType: 'gatedCallWorkflow', taskQueue, idOf: gatedCallIdOf, within }),
  };
}

import { activityInfo } from '@temporalio/activity';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import * as z from 'zod';
import type { FenceMark } from '../../../workflows/domain/gated-call/fence.ts';
import { gatedCallWorkflowId } from '../../../workflows/messages.ts';
import type { Timing } from '../limits.ts';
import { boundedBy } from './connection.ts';

/** Longer than any installation runs without a claim or a restart. */
const NEVER = '3650 days';
/** No worker serves it: a mark is the memo of a workflow that never gets its first task. */
const TASK_QUEUE = 'countersign-fence';
const memoSchema = z.object({ epoch: z.number(), claims: z.number() });
const markId = (installation: string) => `countersign-fence/${installation}`;

export type EngineMemory = ReturnType<typeof createEngineMemory>;

/** The engine's memory of a database, for a database that was restored from an old backup. */
export function createEngineMemory(client: Client, time: Timing) {
  const within = boundedBy(client, time);
  return {
    /** The last mark. Undefined when the engine has none, for example after it lost its data. */
    async readMark(installation: string): Promise<FenceMark | undefined> {
      try {
        const { memo } = await within(() => client.workflow.getHandle(markId(installation)).describe());
        return memoSchema.parse(memo);
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return undefined;
        throw error;
      }
    },
    async writeMark(installation: string, { epoch, claims }: FenceMark): Promise<void> {
      await within(() =>
        client.workflow.start('fence', {
          ...{ workflowId: markId(installation), taskQueue: TASK_QUEUE, args: [], memo: { epoch, claims } },
          startDelay: NEVER,
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          workflowIdConflictPolicy: 'TERMINATE_EXISTING',
        }),
      );
    },
    /** Whether a run other than the current step's has sent the call or completed. */
    async wentFurther(gatedCallId: string): Promise<boolean> {
      const { runId } = activityInfo().workflowExecution ?? {};
      return ['claimed', 'ended'].includes(await within(() => askWitness(client, gatedCallId, runId)));
    },
  };
}

/** The only step that sends. */
const SENDING_STEP = 'invokeTool';

/**
 * The engine's memory of a call. `claimed`: the step that sends was scheduled, so the tool may have run. `ended`: it was not, and the
 * workflow completed, as it does when the call has ended. `unclaimed`: neither, in any run with a history. `unknown`: there is no
 * history.
 */
export type Witness = 'claimed' | 'ended' | 'unclaimed' | 'unknown';

/** Examines every run of the call except `exceptRunId`. The engine's index, which lists the runs, lags by seconds. */
export async function askWitness(client: Client, gatedCallId: string, exceptRunId?: string): Promise<Witness> {
  try {
    const runs = client.workflow.list({ query: `WorkflowId = '${gatedCallWorkflowId(gatedCallId)}'` });
    let witness: Witness = 'unknown';
    for await (const { workflowId, runId, status } of runs) {
      if (runId === exceptRunId) continue;
      const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      const sends = events?.some(
        (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === SENDING_STEP,
      );
      if (sends) return 'claimed';
      if (status.name === 'COMPLETED') witness = 'ended';
      else if (witness === 'unknown') witness = 'unclaimed';
    }
    return witness;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'unknown';
    throw error;
  }
}

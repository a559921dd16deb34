import { activityInfo } from '@temporalio/activity';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import * as z from 'zod';
import type { FenceMark } from '../../../workflows/domain/gated-call/fence.ts';
import { gatedCallWorkflowId } from '../../../workflows/messages.ts';
import type { Timing } from '../limits.ts';
import { boundedBy } from './connection.ts';

/** What the engine remembers of a database, for when that has forgotten it. */
export interface EngineMemory {
  /** The mark that was written last. Undefined when the engine has none, as after it was emptied. */
  readMark(installation: string): Promise<FenceMark | undefined>;
  writeMark(installation: string, mark: FenceMark): Promise<void>;
  /** Whether another run than that of the present step has sent the call, or came to its end. */
  wentFurther(gatedCallId: string): Promise<boolean>;
}

/** Far longer than any installation goes on without a claim, or without being restarted. */
const NEVER = '3650 days';
/** No worker serves it: a mark is the memo of a workflow that waits for its first task, and is never given one. */
const TASK_QUEUE = 'countersign-fence';
const memoSchema = z.object({ epoch: z.number(), claims: z.number() });
const markId = (installation: string) => `countersign-fence/${installation}`;

export function createEngineMemory(client: Client, time: Timing): EngineMemory {
  const within = boundedBy(client, time);
  return {
    async readMark(installation) {
      try {
        const { memo } = await within(() => client.workflow.getHandle(markId(installation)).describe());
        return memoSchema.parse(memo);
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return undefined;
        throw error;
      }
    },
    async writeMark(installation, { epoch, claims }) {
      await within(() =>
        client.workflow.start('fence', {
          ...{ workflowId: markId(installation), taskQueue: TASK_QUEUE, args: [], memo: { epoch, claims } },
          ...{
            startDelay: NEVER,
            workflowIdReusePolicy: 'ALLOW_DUPLICATE',
            workflowIdConflictPolicy: 'TERMINATE_EXISTING',
          },
        }),
      );
    },
    async wentFurther(gatedCallId) {
      const { runId } = activityInfo().workflowExecution ?? {};
      return ['claimed', 'ended'].includes(await within(() => askWitness(client, gatedCallId, runId)));
    },
  };
}

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

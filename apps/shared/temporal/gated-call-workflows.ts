import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type Client,
  type WorkflowExecutionDescription,
} from '@temporalio/client';
import type { GatedCallStart } from '../../../workflows/activity-ports.ts';
import type { gatedCallWorkflow } from '../../../workflows/gated-call.workflow.ts';
import { changedSignal, gatedCallIdOf, gatedCallWorkflowId } from '../../../workflows/messages.ts';
import type { Timing } from '../limits.ts';
import { fewAtATime } from '../maintenance/rounds.ts';
import { boundedBy } from './connection.ts';

/** `finished`: none was started, because the last one came to its end, and it does so only when the call has ended. */
export type Started = 'running' | 'finished';

/**
 * What the workflow of a call is at. `waiting`: for a signal or a timer. `busy`: a step or the tool call is under way. `stuck`:
 * it cannot go on from its history. `none`: no workflow runs.
 */
export type Activity = 'waiting' | 'busy' | 'stuck' | 'none';

/** Starts and signals the workflows of gated calls. All may be repeated: one call has one workflow that runs. */
export interface GatedCallWorkflows {
  /** Starts the workflow, also after one that was terminated or failed. Does nothing while one runs. */
  start(gatedCallId: string, pending?: GatedCallStart['pending']): Promise<Started>;
  /** Starts the workflow, also after one that came to its end. */
  startAnew(gatedCallId: string): Promise<void>;
  /** Signals the workflow; starts it first when none runs and the last one did not come to its end. */
  signal(gatedCallId: string): Promise<Started>;
  activity(gatedCallId: string): Promise<Activity>;
  /** Calls whose workflow runs, as far as the engine's index knows: it may lag by seconds. The last to start comes first. */
  running(): AsyncIterable<string>;
  /** Resolves when the engine answers at all. */
  ping(): Promise<void>;
}

const PAGE = 1_000;

export function createGatedCallWorkflows(
  client: Client,
  { taskQueue, ...time }: Timing & { taskQueue: string },
): GatedCallWorkflows {
  const within = boundedBy(client, time);
  const options = (call: GatedCallStart) => ({
    workflowId: gatedCallWorkflowId(call.gatedCallId),
    taskQueue,
    args: [call] as Parameters<typeof gatedCallWorkflow>,
    workflowIdConflictPolicy: 'USE_EXISTING' as const,
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY' as 'ALLOW_DUPLICATE_FAILED_ONLY' | 'ALLOW_DUPLICATE',
  });
  const start = (of: ReturnType<typeof options>) =>
    unlessFinished(within(() => client.workflow.start<typeof gatedCallWorkflow>('gatedCallWorkflow', of)));
  return {
    start: (gatedCallId, pending) => start(options({ gatedCallId, ...(pending && { pending }) })),
    startAnew: async (gatedCallId) =>
      void (await start({ ...options({ gatedCallId }), workflowIdReusePolicy: 'ALLOW_DUPLICATE' })),
    signal: (gatedCallId) =>
      unlessFinished(
        within(() =>
          client.workflow.signalWithStart<typeof gatedCallWorkflow>('gatedCallWorkflow', {
            ...options({ gatedCallId }),
            signal: changedSignal,
          }),
        ),
      ),
    async activity(gatedCallId) {
      try {
        const workflow = client.workflow.getHandle(gatedCallWorkflowId(gatedCallId));
        return activityOf(await within(() => workflow.describe()));
      } catch (error) {
        // The engine's index may list one that is gone by now.
        if (error instanceof WorkflowNotFoundError) return 'none';
        throw error;
      }
    },
    async *running() {
      const query = `WorkflowType = 'gatedCallWorkflow' AND TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`;
      const pages = client.workflow.list({ query, pageSize: PAGE })[Symbol.asyncIterator]();
      for (;;) {
        const next = await within(() => pages.next());
        if (next.done === true) return;
        yield gatedCallIdOf(next.value.workflowId);
      }
    },
    ping: async () => void (await within(() => client.workflowService.getSystemInfo({}))),
  };
}

/** A workflow that came to its end has nothing left to do, so it need not be started or signalled. */
async function unlessFinished(request: Promise<unknown>): Promise<Started> {
  try {
    await request;
    return 'running';
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return 'finished';
  }
}

/** Attempts of one workflow task, each of them some ten seconds apart, after which the workflow counts as stuck. */
const STUCK_AFTER_ATTEMPTS = 4;

/**
 * A workflow is stuck where its history does not fit the code that is to go on from it, so that its task fails for ever: after
 * code that does not fit was deployed. Not while the tool is called: the result then comes all the same.
 */
function activityOf({ status, raw }: WorkflowExecutionDescription): Activity {
  if (status.name !== 'RUNNING') return 'none';
  if ((raw.pendingActivities ?? []).length > 0) return 'busy';
  const { pendingWorkflowTask: task } = raw;
  if (!task) return 'waiting';
  return (task.attempt ?? 0) >= STUCK_AFTER_ATTEMPTS ? 'stuck' : 'busy';
}

const EXAMINED = 500;
const AT_ONCE = 8;

/** The calls, of those whose workflow runs and began last, whose workflow cannot go on from its history. */
export async function stuckWorkflows(
  workflows: Pick<GatedCallWorkflows, 'running' | 'activity'>,
): Promise<readonly string[]> {
  const running: string[] = [];
  for await (const id of workflows.running()) if (running.push(id) === EXAMINED) break;
  const stuck: string[] = [];
  await fewAtATime(running, AT_ONCE, async (id) => {
    if ((await workflows.activity(id)) === 'stuck') stuck.push(id);
  });
  return stuck;
}

/** What to do about workflows that are stuck. No process ends them by itself: the cause is a deployment. */
export const WHEN_STUCK =
  'deploy the worker whose workflow code fits, and they go on; else end one with `temporal workflow terminate --workflow-id`, ' +
  'and a worker starts it anew from its row';

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

/** `finished`: no workflow was started, because the last one completed, which means that the call has ended. */
export type Started = 'running' | 'finished';

/**
 * The state of a call's workflow. `waiting`: for a signal or a timer. `busy`: a step or the tool call is under way. `stuck`: its code
 * does not fit its history. `none`: no workflow runs.
 */
export type Activity = 'waiting' | 'busy' | 'stuck' | 'none';

export type GatedCallWorkflows = ReturnType<typeof createGatedCallWorkflows>;

const PAGE = 1_000;

/**
 * Starts and signals the workflows of gated calls. All methods may be repeated, because a call has only one running workflow.
 *
 * @param isWorker Whether the client is that of a worker (`connectEngine`). The engine can then hand it the first task with the answer to
 *   the start, instead of putting the task into a queue for a poll.
 */
export function createGatedCallWorkflows(
  client: Client,
  { taskQueue, isWorker = false, ...time }: Timing & { readonly taskQueue: string; readonly isWorker?: boolean },
) {
  const within = boundedBy(client, time);
  const options = (call: GatedCallStart) => optionsOf(call, taskQueue);
  const start = (of: ReturnType<typeof options>) => {
    const request = { ...of, requestEagerStart: isWorker };
    return unlessFinished(within(() => client.workflow.start<typeof gatedCallWorkflow>('gatedCallWorkflow', request)));
  };
  return {
    /** Starts the workflow, also after one that was terminated or failed. Has no effect while one runs. */
    start: (gatedCallId: string, pending?: GatedCallStart['pending']) =>
      start(options({ gatedCallId, ...(pending && { pending }) })),
    /** Starts the workflow, also after one that completed. */
    startAnew: async (gatedCallId: string) =>
      void (await start({ ...options({ gatedCallId }), workflowIdReusePolicy: 'ALLOW_DUPLICATE' })),
    /** Signals the workflow; starts it first when none runs and the last one did not complete. */
    signal(gatedCallId: string) {
      const of = { ...options({ gatedCallId }), signal: changedSignal };
      return unlessFinished(
        within(() => client.workflow.signalWithStart<typeof gatedCallWorkflow>('gatedCallWorkflow', of)),
      );
    },
    async activity(gatedCallId: string): Promise<Activity> {
      try {
        const workflow = client.workflow.getHandle(gatedCallWorkflowId(gatedCallId));
        return activityOf(await within(() => workflow.describe()));
      } catch (error) {
        // The engine's index may list a workflow that is gone by now.
        if (error instanceof WorkflowNotFoundError) return 'none';
        throw error;
      }
    },
    /** Calls with a running workflow, newest first, from the engine's index, which may lag by seconds. */
    async *running(): AsyncIterable<string> {
      const query = `WorkflowType = 'gatedCallWorkflow' AND TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`;
      const pages = client.workflow.list({ query, pageSize: PAGE })[Symbol.asyncIterator]();
      for (;;) {
        const next = await within(() => pages.next());
        if (next.done === true) return;
        yield gatedCallIdOf(next.value.workflowId);
      }
    },
    /** Resolves when the engine answers. */
    ping: async (): Promise<void> => void (await within(() => client.workflowService.getSystemInfo({}))),
  };
}

const optionsOf = (call: GatedCallStart, taskQueue: string) => ({
  workflowId: gatedCallWorkflowId(call.gatedCallId),
  taskQueue,
  args: [call] as Parameters<typeof gatedCallWorkflow>,
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY' as 'ALLOW_DUPLICATE_FAILED_ONLY' | 'ALLOW_DUPLICATE',
});

/** A completed workflow has no work left, so it need not be started or signalled. */
async function unlessFinished(request: Promise<unknown>): Promise<Started> {
  try {
    await request;
    return 'running';
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return 'finished';
  }
}

/** Attempts of one workflow task, about ten seconds apart, after which the workflow counts as stuck. */
const STUCK_AFTER_ATTEMPTS = 4;

/**
 * A workflow is stuck when its task fails for ever, because the deployed code does not fit its history. It is not stuck while the tool is
 * called, because the result is still delivered.
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

/** The calls with a stuck workflow, among the newest running ones. */
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

/** The operator's next step. No process ends stuck workflows by itself, because their cause is a deployment. */
export const WHEN_STUCK =
  'deploy a worker with fitting workflow code, and they continue; or end one with `temporal workflow terminate --workflow-id`, ' +
  'and a worker starts it again from its row';

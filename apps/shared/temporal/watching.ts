import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import type { Timing } from '../limits.ts';
import type { RunningWorkflows } from '../maintenance/reconciler.ts';

const PAGE = 1_000;

export type Within = <T>(request: () => Promise<T>) => Promise<T>;

/** Bounds each request to the engine. */
export const boundedBy =
  (client: Client, { clock, limits }: Timing): Within =>
  (request) =>
    client.withDeadline(clock.now() + limits.engineMs, request);

interface Watched {
  readonly workflowType: string;
  readonly taskQueue: string;
  /** What a workflow with this id is for. */
  readonly idOf: (workflowId: string) => string;
  readonly within: Within;
}

/** What can be seen of the engine from outside of any one workflow. */
export function watching(client: Client, { workflowType, taskQueue, idOf, within }: Watched): RunningWorkflows {
  return {
    async *running() {
      const query = `WorkflowType = '${workflowType}' AND TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`;
      const pages = client.workflow.list({ query, pageSize: PAGE })[Symbol.asyncIterator]();
      for (;;) {
        const next = await within(() => pages.next());
        if (next.done === true) return;
        yield idOf(next.value.workflowId);
      }
    },
    ping: async () => void (await within(() => client.workflowService.getSystemInfo({}))),
  };
}

/** A workflow that ran to its end has nothing left to do, so it need not be started or woken. Answers whether there is one that did. */
export async function ignoringFinished(request: Promise<unknown>): Promise<'running' | 'finished'> {
  try {
    await request;
    return 'running';
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return 'finished';
  }
}

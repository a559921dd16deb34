import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import type { RunningWorkflows } from '../maintenance/reconciler.ts';

/** So long a request may take. One that was carried out all the same, and only answered too late, does no harm. Milliseconds. */
const REQUEST_MS = 5_000;
const PAGE = 1_000;

export type Within = <T>(request: () => Promise<T>) => Promise<T>;

/** Bounds each request to the engine. */
export const boundedBy =
  (client: Client): Within =>
  (request) =>
    client.withDeadline(Date.now() + REQUEST_MS, request);

/** What can be seen of the engine from outside of any one workflow. `idOf`: what a workflow with this id is for. */
export function watching(
  client: Client,
  { workflowType, taskQueue, idOf }: { workflowType: string; taskQueue: string; idOf: (workflowId: string) => string },
): RunningWorkflows {
  const within = boundedBy(client);
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

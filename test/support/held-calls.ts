import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { OpenRequest } from './decisions.ts';
import { warningsOf } from './artefacts.ts';
import type { Stack } from './stack.ts';
import { waitFor } from './wait-for.ts';

/** Operations of tests on calls that wait for an approval, on a stack whose parts may come and go. */
export function heldCalls(stack: () => Stack, tokenOf = () => stack().token('agent')) {
  return {
    /** Makes a call that has to wait for an approval, beside those that wait already. */
    async hold(beside: readonly OpenRequest[] = []): Promise<{ taskId: string; path: string; request: OpenRequest }> {
      const path = join(stack().files, `held-${randomUUID()}.txt`);
      const call = { name: 'files__write_file', arguments: { path, content: path } };
      const { body } = await stack().rpc(await tokenOf(), 'tools/call', call);
      const taskId = body.result?.['taskId'];
      if (typeof taskId !== 'string') {
        throw new Error(`the call is not put on hold: ${JSON.stringify(body)}\n${warningsOf(stack())}`);
      }
      const requests = await stack().openRequests(beside.length + 1);
      const request = requests.find(({ id }) => !beside.some((other) => other.id === id));
      if (request === undefined) throw new Error('no request');
      return { taskId, path, request };
    },
    async approve(request: OpenRequest): Promise<void> {
      const { status } = await stack().decide(request, { verdict: 'approve' });
      if (status !== 200) throw new Error(`the approval was answered with ${status}`);
    },
    async end(taskId: string): Promise<{ status: string; disposition: unknown }> {
      const token = await tokenOf();
      return waitFor(
        async () => {
          const { body } = await stack().rpc(token, 'tasks/get', { taskId });
          if (body.result === undefined || body.result['status'] === 'working') return undefined;
          const result = (body.result['result'] ?? {}) as { _meta?: Record<string, unknown> };
          return {
            status: String(body.result['status']),
            disposition: result._meta?.['io.modelcontextprotocol/tool-approval-disposition'],
          };
        },
        { timeoutMs: 120_000, everyMs: 100 },
      );
    },
    /** Moves the execution deadline of a claimed call to now. */
    async endExecution(taskId: string): Promise<void> {
      const text = 'UPDATE gateway.gated_call SET execution_deadline = clock_timestamp() WHERE task_id = $1';
      await (await stack().database()).query(text, [taskId]);
    },
    writes: (path: string) =>
      stack()
        .upstreamCalls()
        .filter((call) => call.arguments['path'] === path).length,
  };
}

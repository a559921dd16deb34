import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { measure } from '../bench/stats.ts';
import { taskIdOf, warningsOf } from '../support/artefacts.ts';
import { endOf } from '../soak/lives.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

const CALLS = 100;
const RACES_AT_ONCE = 8;

describe('approval and cancellation at the same time', () => {
  let stack!: Stack;
  beforeAll(async () => {
    stack = await startStack({
      parts: 'together',
      // The product's own poll intervals: hundreds of waiting calls are not polled every second.
      config: {
        gateway: { maxOpenPerCaller: CALLS + 1 },
        worker: { resolutionPollMinSeconds: 30, resolutionPollMaxSeconds: 600 },
      },
    });
  });
  afterAll(() => stack?.stop());

  it(`never both executes and cancels, on ${CALLS} calls`, async () => {
    const token = await stack.token('agent');
    const pathOf = (index: number) => join(stack.files, `race-${index}.txt`);
    const paths = new Map<string, string>();
    for (let index = 0; index < CALLS; index += 1) {
      const { body } = await stack.rpc(token, 'tools/call', {
        name: 'files__write_file',
        arguments: { path: pathOf(index), content: 'x' },
      });
      if (body.result?.['resultType'] !== 'task') {
        throw new Error(`the call is not put on hold: ${JSON.stringify(body)}\n${warningsOf(stack)}`);
      }
      paths.set(String(body.result?.['taskId']), pathOf(index));
    }
    const requests = await stack.openRequests(CALLS);
    const statusOf = async (taskId: string) => (await stack.rpc(token, 'tasks/get', { taskId })).body.result;

    const database = await stack.database();
    const isGranted = async (taskId: string) =>
      (await database.query(`SELECT FROM gateway.gated_call WHERE task_id = $1 AND state <> 'pending'`, [taskId]))
        .rowCount === 1;

    // A few at a time: among hundreds the execution would never be as fast as the cancellation.
    await measure({ count: CALLS, callers: RACES_AT_ONCE }, async (index) => {
      const request = requests[index];
      const taskId = await taskIdOf(stack, request?.id);
      const approve = stack.decide(request, { verdict: 'approve' });
      // Half of the cancels race the vote, the others race the claim that follows the grant.
      if (index % 2 === 0) await waitFor(() => isGranted(taskId), { everyMs: 1 });
      await Promise.all([approve, stack.rpc(token, 'tasks/cancel', { taskId })]);
    });

    const ends = { cancelled: 0, completed: 0 };
    let notSent = 0;
    for (const [taskId, path] of paths) {
      const result = await waitFor(async () => {
        const task = await statusOf(taskId);
        return task?.['status'] === 'working' ? undefined : task;
      });
      const status = result['status'] as 'cancelled' | 'completed';
      ends[status] += 1;
      const writes = stack.upstreamCalls().filter((call) => call.arguments['path'] === path);
      // If the machine stood still between permit and sending, the call is not sent, and says so.
      const ran = status === 'completed' && endOf(result) !== 'execution-error';
      if (status === 'completed' && !ran) notSent += 1;
      expect(writes).toHaveLength(ran ? 1 : 0);
      expect(existsSync(path)).toBe(ran);
    }
    expect(ends.cancelled + ends.completed).toBe(CALLS);
    expect(notSent).toBeLessThanOrEqual(CALLS / 20);
  }, 600_000);
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { isAlive } from '../../apps/shared/embedded/process-tools.ts';
import { expectInvariants } from '../invariants/check-invariants.ts';
import { heldCalls } from '../support/held-calls.ts';
import { killAmidCalls } from '../support/kills.ts';
import { startStack, type Part, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

interface Victim {
  readonly name: string;
  readonly parts: readonly Part[];
}

const APART: readonly Victim[] = [
  { name: 'the gateway', parts: ['gateway'] },
  { name: 'the worker', parts: ['worker'] },
  { name: 'Temporal', parts: ['temporal'] },
  { name: 'all of them', parts: ['gateway', 'worker', 'temporal', 'pdp', 'approvals', 'audit'] },
];

describe('kill -9 of separate parts', () => {
  let stack!: Stack;
  const { hold, approve, end, writes } = heldCalls(() => stack);
  beforeAll(async () => {
    stack = await startStack({ parts: 'apart', timeLimitFactor: 1 });
  });
  afterAll(() => stack?.stop());

  it.each(APART)(
    'of $name: waiting and approved calls run once, and the status of a running call stays cautious',
    ({ parts }) => killAmidCalls(stack, parts),
  );

  it('a call is opened, read and approved without Temporal, and executed once when Temporal is back', async () => {
    const waiting = await hold();
    await stack.kill('temporal');
    const opened = await hold([waiting.request]);
    const token = await stack.token('agent');
    const read = async () => {
      for (const { taskId } of [waiting, opened]) {
        const { body } = await stack.rpc(token, 'tasks/get', { taskId });
        expect(body.result?.['status']).toBe('working');
      }
    };
    for (let times = 0; times < 20; times += 1) await read();
    for (const { request } of [waiting, opened]) await approve(request);
    for (let times = 0; times < 20; times += 1) await read();
    await stack.startPart('temporal');
    for (const { taskId, path } of [waiting, opened]) {
      expect(await end(taskId)).toEqual({ status: 'completed', disposition: 'approved-executed' });
      expect([writes(path), readFileSync(path, 'utf8')]).toEqual([1, path]);
    }
    const seenTaskIds = [waiting.taskId, opened.taskId];
    await expectInvariants(await stack.database(), { seenTaskIds });
  });
});

describe('kill -9 of everything that one process started', () => {
  let stack!: Stack;
  const { hold, approve, end, writes } = heldCalls(() => stack);
  beforeAll(async () => {
    stack = await startStack({ parts: 'together', timeLimitFactor: 1 });
  });
  afterAll(() => stack?.stop());

  it('loses no call: a waiting call continues after the next start', async () => {
    const { taskId, path, request } = await hold();
    await stack.killEverything();
    await stack.startPart('up');
    await approve(request);
    expect(await end(taskId)).toEqual({ status: 'completed', disposition: 'approved-executed' });
    expect(readFileSync(path, 'utf8')).toBe(path);
    expect(writes(path)).toBe(1);
  });

  it('can be followed by a SIGTERM, which stops everything within seconds', async () => {
    const pids = stack.embeddedPids();
    expect(pids).toHaveLength(2);
    // Counts polls instead of time, because the machine may stand still.
    let looks = 0;
    stack.signal('up', 'SIGTERM');
    await waitFor(() => (looks += 1) > 0 && !stack.isRunning('up'), { everyMs: 100 });
    expect(looks).toBeLessThan(200);
    // Each was told to end. On a slow machine that takes longer than `up` waits for them.
    await waitFor(() => !pids.some(isAlive));
    await stack.startPart('up');
  });
});

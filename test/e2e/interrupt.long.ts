import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { heldCalls } from '../support/held-calls.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ parts: 'together', servers: 'shared' });
});
afterAll(() => stack?.stop());

it('Ctrl-C waits for the result of a call that is at its tool', async () => {
  const { hold, approve, end, writes } = heldCalls(() => stack);
  const { taskId, path, request } = await hold();
  stack.holdUpstream();
  await approve(request);
  await waitFor(() => writes(path) === 1);
  stack.interrupt();
  await waitFor(() => stack.log('up').includes('Stopping'));
  stack.releaseUpstream();
  await waitFor(() => !stack.isRunning('up'));
  expect(stack.log('up')).toContain('Stopped.');
  await stack.startPart('up');
  expect(await end(taskId)).toEqual({ status: 'completed', disposition: 'approved-executed' });
  expect(writes(path)).toBe(1);
});

import { afterAll, beforeAll, it } from '@jest/globals';
import { killAmidCalls } from '../support/kills.ts';
import { startStack, type Stack } from '../support/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ parts: 'apart', servers: 'shared' });
});
afterAll(() => stack?.stop());

it("after kill -9 of gateway and worker, approved calls run once, and a running call's status stays cautious [ARAP-GEN-06] [APPR-211, AT-2]", () =>
  killAmidCalls(stack, ['gateway', 'worker']));

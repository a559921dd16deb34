import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connectEarlier } from '../support/foreign-clients.ts';
import { killAmidCalls } from '../support/kills.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ parts: 'apart', servers: 'shared' });
});
afterAll(() => stack?.stop());

it("after kill -9 of gateway and worker, approved calls run once, and a running call's status stays cautious [ARAP-GEN-06] [APPR-211, AT-2]", () =>
  killAmidCalls(stack, ['gateway', 'worker']));

it('after kill -9 of the gateway, a client of an earlier revision goes on with its session', async () => {
  const { client } = await connectEarlier(stack, '2025-11-25');
  try {
    const before = await client.listTools();
    await stack.kill('gateway');
    await expect(client.ping()).rejects.toThrow();
    await stack.startPart('gateway');
    expect(await client.ping()).toEqual({});
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    await waitFor(async () => (await names()).length === before.tools.length);
  } finally {
    await client.close();
  }
});

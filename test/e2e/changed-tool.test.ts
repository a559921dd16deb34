import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { acceptOffered } from '../support/accept-offered.ts';
import { startChangingUpstream, type Description } from '../support/changing-upstream.ts';
import { sendUntilAnswered, textOf } from '../support/gateway-wire.ts';
import { heldCalls } from '../support/held-calls.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

const POLICIES = `
  @id("test-pay") @requestable("operator_approval") @reason("approval_required") @title("Pay") @description("Pays.")
  permit (principal, action == Action::"tools/call", resource)
  when { resource.id == "bank__pay" && context has approval && context.approval.verified };`;
const ORIGINAL: Description = {
  description: 'Pays what is owed.',
  properties: { amount: { type: 'integer', 'x-mcp-header': 'Amount' } },
  annotations: { destructiveHint: true, idempotentHint: true },
};

const EXECUTED = { status: 'completed', disposition: 'approved-executed' };
const NOT_EXECUTED = { status: 'completed', disposition: 'denied-not-executed' };

let stack!: Stack;
let bank!: Awaited<ReturnType<typeof startChangingUpstream>>;
const { approve, end } = heldCalls(() => stack);
beforeAll(async () => {
  bank = await startChangingUpstream(ORIGINAL);
  stack = await startStack({
    parts: 'here',
    // Worker and gateway each know what they have read themselves, as in two processes.
    upstreams: 'own',
    policies: POLICIES,
    mcpServers: { bank: { url: bank.url } },
  });
  // From here on the worker knows the original tool, too.
  const { taskId, request } = await hold();
  await approve(request);
  expect(await end(taskId)).toEqual(EXECUTED);
});
afterAll(async () => {
  await stack?.stop();
  await bank.close();
});
afterEach(() => {
  bank.described = ORIGINAL;
});

let amount = 0;
const pay = async () => {
  const call = { name: 'bank__pay', arguments: { amount: (amount += 1) } };
  const options = { token: await stack.token('agent'), headers: { 'mcp-param-amount': String(amount) } };
  return sendUntilAnswered({ mcpUrl: stack.config.urls.mcp }, 'tools/call', call, options);
};
/** A call that waits for an approval. */
async function hold() {
  const { body } = await pay();
  const [request] = await stack.openRequests(1);
  if (request === undefined) throw new Error('no request');
  return { taskId: String(body.result?.['taskId']), request };
}
const reasonOf = async (taskId: string) => {
  const text = 'SELECT reason FROM gateway.gated_call WHERE task_id = $1';
  return (await (await stack.database()).query<{ reason: string | null }>(text, [taskId])).rows[0]?.reason;
};

it('an approved call has its argument in the header that its tool wants', async () => {
  const { taskId, request } = await hold();
  await approve(request);
  expect(await end(taskId)).toEqual(EXECUTED);
  expect(bank.headers.at(-1)).toMatchObject({ 'mcp-param-amount': String(amount) });
});

describe('a call that is approved after a change of its tool', () => {
  it.each([
    ['has another description', { ...ORIGINAL, description: 'Pays twice what is owed.' }],
    ['takes other arguments', { ...ORIGINAL, properties: { amount: { type: 'number' } } }],
    ['has other annotations', { ...ORIGINAL, annotations: { destructiveHint: true } }],
    ['was removed', undefined],
  ] as const)('is not executed when the tool %s', async (_case, described) => {
    const { taskId, request } = await hold();
    const before = bank.calls;
    bank.described = described;
    await approve(request);
    expect(await end(taskId)).toEqual(NOT_EXECUTED);
    const { result } = (await stack.rpc(await stack.token('agent'), 'tasks/get', { taskId })).body.result ?? {};
    expect(JSON.stringify(result)).toContain('the tool has changed since the call was made');
    expect([await reasonOf(taskId), bank.calls]).toEqual(['tool_changed', before]);
  });

  it('is executed when the tool changed back to the description at the time of the call', async () => {
    const { taskId, request } = await hold();
    const before = bank.calls;
    bank.described = { ...ORIGINAL, description: 'Pays twice what is owed.' };
    bank.announce();
    bank.described = ORIGINAL;
    await approve(request);
    expect([await end(taskId), bank.calls]).toEqual([EXECUTED, before + 1]);
  });
});

describe('an announced change of a tool', () => {
  const CHANGED = { ...ORIGINAL, description: 'Pays twice what is owed.' };
  const become = (described: Description) => {
    bank.described = described;
    bank.announce();
  };
  /** Waits until the tool is listed with this description, or not listed at all. */
  const listed = async (described?: Description) => {
    const token = await stack.token('agent');
    await waitFor(async () => {
      const { body } = await stack.rpc(token, 'tools/list', {});
      const tools = body.result?.['tools'] as { name: string; description: string }[];
      return tools.find(({ name }) => name === 'bank__pay')?.description === described?.description;
    });
  };
  const accept = async () => acceptOffered(await stack.database(), { bank: { url: bank.url } });

  it('denies earlier calls, and fails later calls until it is accepted', async () => {
    const old = await hold();
    const before = bank.calls;
    become(CHANGED);
    await listed();
    await approve(old.request);
    expect([await end(old.taskId), bank.calls]).toEqual([NOT_EXECUTED, before]);

    const { body } = await pay();
    expect([textOf(body.result), bank.calls]).toEqual([
      expect.stringContaining('`countersign signature accept`'),
      before,
    ]);
    expect(await stack.openRequests(0)).toEqual([]);

    await accept();
    await listed(CHANGED);
    const anew = await hold();
    await approve(anew.request);
    expect([await end(anew.taskId), bank.calls]).toEqual([EXECUTED, before + 1]);
    bank.described = ORIGINAL;
    await accept();
    become(ORIGINAL);
    await listed(ORIGINAL);
  });

  it('denies earlier calls once accepted, even if the tool has changed back', async () => {
    const { taskId, request } = await hold();
    const before = bank.calls;
    bank.described = CHANGED;
    await accept();
    bank.described = ORIGINAL;
    await approve(request);
    expect([await end(taskId), bank.calls]).toEqual([NOT_EXECUTED, before]);
    expect(await reasonOf(taskId)).toBe('tool_changed');
    await accept();
  });
});

import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { packagePath } from '../../apps/shared/config/files.ts';
import { acceptOffered } from '../support/accept-offered.ts';
import { warningsOf } from '../support/artefacts.ts';
import { startChangingUpstream, type Description } from '../support/changing-upstream.ts';
import { sendUntilAnswered, textOf } from '../support/gateway-wire.ts';
import { heldCalls } from '../support/held-calls.ts';
import { startMappedBank } from '../support/mapped-bank.ts';
import { BOTH_ACCOUNTS, WIRE_TRANSFER } from '../support/mapped-tools.ts';
import { openCall } from '../support/sealed-calls.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

const POLICIES = `
  @id("test-pay") @requestable("operator_approval") @reason("approval_required") @title("Pay") @description("Pays.")
  permit (principal, action == Action::"tools/call", resource)
  when { resource.id == "till__pay" && context has approval && context.approval.verified };`;
const ORIGINAL: Description = {
  description: 'Pays what is owed.',
  properties: { amount: { type: 'integer', 'x-mcp-header': 'Amount' } },
  annotations: { destructiveHint: true, idempotentHint: true },
};

const read = (...path: string[]) => readFileSync(packagePath(...path), 'utf8');
const SCHEMA = read('policies', 'schema.cedarschema') + read('test', 'fixtures', 'mapped-bank', 'schema.cedarschema');

const EXECUTED = { status: 'completed', disposition: 'approved-executed' };
const NOT_EXECUTED = { status: 'completed', disposition: 'denied-not-executed' };

let stack!: Stack;
let bank!: Awaited<ReturnType<typeof startMappedBank>>;
let till!: Awaited<ReturnType<typeof startChangingUpstream>>;
const { approve, end } = heldCalls(() => stack);
beforeAll(async () => {
  till = await startChangingUpstream(ORIGINAL);
  bank = await startMappedBank();
  stack = await startStack({
    parts: 'here',
    // Worker and gateway each know what they have read themselves, as in two processes.
    upstreams: 'own',
    policies: POLICIES + read('test', 'fixtures', 'mapped-bank', 'policies.cedar'),
    policyFiles: { 'schema.cedarschema': SCHEMA },
    mcpServers: { till: { url: till.url }, bank: { url: bank.url } },
  });
  // From here on the worker knows the original tool, too.
  const { taskId, request } = await hold();
  await approve(request);
  expect(await end(taskId)).toEqual(EXECUTED);
});
afterAll(async () => {
  await stack?.stop();
  await till.close();
  await bank.close();
});
afterEach(() => {
  till.described = ORIGINAL;
  bank.mappings = { wire_transfer: WIRE_TRANSFER, move: BOTH_ACCOUNTS };
});

let amount = 0;
const pay = async () => {
  const call = { name: 'till__pay', arguments: { amount: (amount += 1) } };
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
  expect(till.headers.at(-1)).toMatchObject({ 'mcp-param-amount': String(amount) });
});

describe('a call that is approved after a change of its tool', () => {
  it.each([
    ['has another description', { ...ORIGINAL, description: 'Pays twice what is owed.' }],
    ['takes other arguments', { ...ORIGINAL, properties: { amount: { type: 'number' } } }],
    ['has other annotations', { ...ORIGINAL, annotations: { destructiveHint: true } }],
    ['was removed', undefined],
  ] as const)('is not executed when the tool %s', async (_case, described) => {
    const { taskId, request } = await hold();
    const before = till.calls;
    till.described = described;
    await approve(request);
    expect(await end(taskId)).toEqual(NOT_EXECUTED);
    const { result } = (await stack.rpc(await stack.token('agent'), 'tasks/get', { taskId })).body.result ?? {};
    expect(JSON.stringify(result)).toContain('the tool has changed since the call was made');
    expect([await reasonOf(taskId), till.calls]).toEqual(['tool_changed', before]);
  });

  it('is executed when the tool changed back to the description at the time of the call', async () => {
    const { taskId, request } = await hold();
    const before = till.calls;
    till.described = { ...ORIGINAL, description: 'Pays twice what is owed.' };
    till.announce();
    till.described = ORIGINAL;
    await approve(request);
    expect([await end(taskId), till.calls]).toEqual([EXECUTED, before + 1]);
  });
});

describe('an announced change of a tool', () => {
  const CHANGED = { ...ORIGINAL, description: 'Pays twice what is owed.' };
  const become = (described: Description) => {
    till.described = described;
    till.announce();
  };
  /** Waits until the tool is listed with this description, or not listed at all. */
  const listed = async (described?: Description) => {
    const token = await stack.token('agent');
    await waitFor(async () => {
      const { body } = await stack.rpc(token, 'tools/list', {});
      const tools = body.result?.['tools'] as { name: string; description: string }[];
      return tools.find(({ name }) => name === 'till__pay')?.description === described?.description;
    });
  };
  const accept = async () => acceptOffered(await stack.database(), { till: { url: till.url } });

  it('denies earlier calls, and fails later calls until it is accepted', async () => {
    const old = await hold();
    const before = till.calls;
    become(CHANGED);
    await listed();
    await approve(old.request);
    expect([await end(old.taskId), till.calls]).toEqual([NOT_EXECUTED, before]);

    const { body } = await pay();
    expect([textOf(body.result), till.calls]).toEqual([
      expect.stringContaining('`countersign signature accept`'),
      before,
    ]);
    expect(await stack.openRequests(0)).toEqual([]);

    await accept();
    await listed(CHANGED);
    const anew = await hold();
    await approve(anew.request);
    expect([await end(anew.taskId), till.calls]).toEqual([EXECUTED, before + 1]);
    till.described = ORIGINAL;
    await accept();
    become(ORIGINAL);
    await listed(ORIGINAL);
  });

  it('denies earlier calls once accepted, even if the tool has changed back', async () => {
    const { taskId, request } = await hold();
    const before = till.calls;
    till.described = CHANGED;
    await accept();
    till.described = ORIGINAL;
    await approve(request);
    expect([await end(taskId), till.calls]).toEqual([NOT_EXECUTED, before]);
    expect(await reasonOf(taskId)).toBe('tool_changed');
    await accept();
  });
});

describe('a tool with a mapping', () => {
  const call = async (name: string, args: object) =>
    (await stack.rpc(await stack.token('agent'), 'tools/call', { name: `bank__${name}`, arguments: args })).body;
  async function holdMapped(name: string, args: object) {
    const answer = await call(name, args);
    const taskId = answer.result?.['taskId'];
    if (typeof taskId !== 'string') throw new Error(`not held: ${JSON.stringify(answer)}\n${warningsOf(stack)}`);
    const [request] = await stack.openRequests(1);
    if (request === undefined) throw new Error('no request');
    return { taskId, request };
  }
  const opened = async (taskId: string) =>
    openCall({ database: await stack.database(), secrets: stack.development.secrets }, taskId);

  it('is called at once where a policy permits the mapped request [COAZ-FW-14] [COAZ-FW-15] [COAZ-EN-04] [COAZ-SE-02]', async () => {
    const args = { to: 'acct-991', amount: 20_000, memo: 'Q4' };
    expect(await call('wire_transfer', args)).toMatchObject({ result: { content: [{ text: 'booked' }] } });
    expect(bank.calls.at(-1)).toEqual({ tool: 'wire_transfer', arguments: args });
  });

  it('is called with exactly the approved arguments, once a larger amount is approved [COAZ-FW-14] [PRJ-17]', async () => {
    const before = bank.calls.length;
    const args = { to: 'acct-991', amount: 50_000, memo: 'Q4' };
    const { taskId, request } = await holdMapped('wire_transfer', args);
    expect((await opened(taskId))?.binding.evaluation).toMatchObject({
      ...{ action: { name: 'wire_transfer' }, resource: { type: 'account', id: 'acct-991' } },
      context: { agent: 'agent', amount: 50_000, memo: 'Q4', tool: 'bank__wire_transfer' },
    });
    expect(bank.calls).toHaveLength(before);
    await approve(request);
    expect([await end(taskId), bank.calls.slice(before)]).toEqual([
      EXECUTED,
      [{ tool: 'wire_transfer', arguments: args }],
    ]);
  });

  it('is refused for good where no approval helps, and where the mapping fails [COAZ-ER-02] [COAZ-ER-08]', async () => {
    const before = bank.calls.length;
    expect(await call('wire_transfer', { to: 'acct-991', amount: 2_000_000 })).toMatchObject({
      result: { isError: true },
    });
    expect(await call('wire_transfer', { to: '', amount: 1 })).toMatchObject({ error: { code: -32_602 } });
    expect([bank.calls.length, await stack.openRequests(0)]).toEqual([before, []]);
  });

  it('asks about both of its accounts, and waits for the approval of one [COAZ-EN-05] [COAZ-EN-06]', async () => {
    const before = bank.calls.length;
    const { taskId, request } = await holdMapped('move', { from: 'acct-1', to: 'acct-2', amount: 1 });
    await approve(request);
    expect([await end(taskId), bank.calls.length]).toEqual([EXECUTED, before + 1]);
    const refused = await call('move', { from: 'acct-1', to: 'acct-666', amount: 1 });
    expect([refused.result?.['isError'], bank.calls.length]).toEqual([true, before + 1]);
  });

  it('with a changed mapping does not run with the approval of the first [PRJ-36] [COAZ-PP-06]', async () => {
    const { taskId, request } = await holdMapped('wire_transfer', { to: 'acct-7', amount: 60_000 });
    const before = bank.calls.length;
    const { context: _context, ...evaluation } = WIRE_TRANSFER.evaluation;
    bank.mappings = { ...bank.mappings, wire_transfer: { evaluation: { ...evaluation, context: { amount: 1 } } } };
    bank.announce();
    await approve(request);
    expect(await end(taskId)).toEqual(NOT_EXECUTED);
    expect([(await opened(taskId))?.reason, bank.calls.length]).toEqual(['tool_changed', before]);
    // Once the gateway knows the new mapping, the tool cannot be called until the operator accepts it: the mapping belongs to the
    // accepted description.
    const pay = async () => JSON.stringify(await call('wire_transfer', { to: 'acct-7', amount: 60_000 }));
    await waitFor(async () => (await pay()).includes('as the operator of this gateway accepted it'));
    const calls = bank.calls.length;
    expect([await pay(), bank.calls.length]).toEqual([
      expect.stringContaining('as the operator of this gateway accepted it'),
      calls,
    ]);
    await acceptOffered(await stack.database(), { bank: { url: bank.url } });
    await waitFor(async () => (await pay()).includes('booked'));
  });
});

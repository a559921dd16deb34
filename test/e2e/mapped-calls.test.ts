import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { packagePath } from '../../apps/shared/config/files.ts';
import { acceptOffered } from '../support/accept-offered.ts';
import { warningsOf } from '../support/artefacts.ts';
import { heldCalls } from '../support/held-calls.ts';
import { startMappedBank } from '../support/mapped-bank.ts';
import { BOTH_ACCOUNTS, WIRE_TRANSFER } from '../support/mapped-tools.ts';
import { openCall } from '../support/sealed-calls.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

const read = (...path: string[]) => readFileSync(packagePath(...path), 'utf8');
const SCHEMA = read('policies', 'schema.cedarschema') + read('test', 'fixtures', 'mapped-bank', 'schema.cedarschema');
const EXECUTED = { status: 'completed', disposition: 'approved-executed' };
const NOT_EXECUTED = { status: 'completed', disposition: 'denied-not-executed' };

let stack!: Stack;
let bank!: Awaited<ReturnType<typeof startMappedBank>>;
const { approve, end } = heldCalls(() => stack);
beforeAll(async () => {
  bank = await startMappedBank();
  stack = await startStack({
    parts: 'here',
    policies: read('test', 'fixtures', 'mapped-bank', 'policies.cedar'),
    policyFiles: { 'schema.cedarschema': SCHEMA },
    mcpServers: { bank: { url: bank.url } },
  });
});
afterAll(async () => {
  await stack?.stop();
  await bank.close();
});
afterEach(() => {
  bank.mappings = { wire_transfer: WIRE_TRANSFER, move: BOTH_ACCOUNTS };
});

const call = async (name: string, args: object) =>
  (await stack.rpc(await stack.token('agent'), 'tools/call', { name: `bank__${name}`, arguments: args })).body;
async function hold(name: string, args: object) {
  const answer = await call(name, args);
  const taskId = answer.result?.['taskId'];
  if (typeof taskId !== 'string') throw new Error(`not held: ${JSON.stringify(answer)}\n${warningsOf(stack)}`);
  const [request] = await stack.openRequests(1);
  if (request === undefined) throw new Error('no request');
  return { taskId, request };
}
const opened = async (taskId: string) =>
  openCall({ database: await stack.database(), secrets: stack.development.secrets }, taskId);

describe('a tool with a mapping', () => {
  it('is called at once where a policy permits the mapped request [COAZ-FW-14] [COAZ-FW-15] [COAZ-EN-04] [COAZ-SE-02]', async () => {
    const args = { to: 'acct-991', amount: 20_000, memo: 'Q4' };
    expect(await call('wire_transfer', args)).toMatchObject({ result: { content: [{ text: 'booked' }] } });
    expect(bank.calls.at(-1)).toEqual({ tool: 'wire_transfer', arguments: args });
  });

  it('is called with exactly the approved arguments, once a larger amount is approved [COAZ-FW-14] [PRJ-17]', async () => {
    const before = bank.calls.length;
    const args = { to: 'acct-991', amount: 50_000, memo: 'Q4' };
    const { taskId, request } = await hold('wire_transfer', args);
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
    const { taskId, request } = await hold('move', { from: 'acct-1', to: 'acct-2', amount: 1 });
    await approve(request);
    expect([await end(taskId), bank.calls.length]).toEqual([EXECUTED, before + 1]);
    const refused = await call('move', { from: 'acct-1', to: 'acct-666', amount: 1 });
    expect([refused.result?.['isError'], bank.calls.length]).toEqual([true, before + 1]);
  });

  it('with a changed mapping does not run with the approval of the first [PRJ-36] [COAZ-PP-06]', async () => {
    const { taskId, request } = await hold('wire_transfer', { to: 'acct-7', amount: 60_000 });
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

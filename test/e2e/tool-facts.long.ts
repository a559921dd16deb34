import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startChangingUpstream } from '../support/changing-upstream.ts';
import { heldCalls } from '../support/held-calls.ts';
import { openCall } from '../support/sealed-calls.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

const POLICIES = `
  @id("test-pay") @requestable("operator_approval") @reason("approval_required") @title("Pay") @description("Pays.")
  permit (principal, action == Action::"tools/call", resource)
  when { resource.id == "bank__pay" && context has approval && context.approval.verified };`;
const EXECUTED = { status: 'completed', disposition: 'approved-executed' };
const NOT_EXECUTED = { status: 'completed', disposition: 'denied-not-executed' };
const FLAG = 'feature:payments';

const folder = mkdtempSync(join(tmpdir(), 'tool-facts-'));
const flagsFile = join(folder, 'flags.yaml');
const flag = (content: string) => writeFileSync(flagsFile, content);

let stack!: Stack;
let bank!: Awaited<ReturnType<typeof startChangingUpstream>>;
const { approve, end } = heldCalls(() => stack);
beforeAll(async () => {
  bank = await startChangingUpstream({
    description: 'Pays.',
    properties: { amount: { type: 'integer' } },
    annotations: {},
  });
  stack = await startStack({
    parts: 'together',
    servers: 'shared',
    policies: POLICIES,
    mcpServers: { bank: { url: bank.url } },
    config: {
      tools: { bank__pay: { requirements: [FLAG, 'auth:agent'] } },
      requirements: { [FLAG]: { flagsFile }, 'auth:agent': { claim: 'client_id', value: 'agent' } },
    },
  });
});
afterAll(async () => {
  await stack?.stop();
  await bank.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => flag(`${FLAG}: true`));

let amount = 0;
const pay = async (person: string) =>
  stack.rpc(await stack.token(person), 'tools/call', { name: 'bank__pay', arguments: { amount: (amount += 1) } });
/** A call that waits for an approval. */
async function hold() {
  const { body } = await pay('agent');
  const [request] = await stack.openRequests(1);
  if (request === undefined) throw new Error('no request');
  return { taskId: String(body.result?.['taskId']), request };
}
const opened = async (taskId: string) =>
  openCall({ database: await stack.database(), secrets: stack.development.secrets }, taskId);

describe('the requirements of a tool', () => {
  it('are checked at the call, and no request is opened for a caller who does not meet them [REQ-004, REQ-014]', async () => {
    flag(`${FLAG}: false`);
    const { body } = await pay('agent');
    expect(body.result).toMatchObject({
      isError: true,
      content: [{ text: `The tool did not run. Unmet requirement: ${FLAG}` }],
    });
    flag(`${FLAG}: true`);
    expect((await pay('bob')).body.result).toMatchObject({
      content: [{ text: expect.stringContaining('auth:agent') }],
    });
    expect(await stack.openRequests(0)).toEqual([]);
  });

  it('are checked again when the call is approved, with the sealed claims of the caller [REQ-014]', async () => {
    const { taskId, request } = await hold();
    expect((await opened(taskId))?.binding.claims).toEqual({ client_id: 'agent' });
    const before = bank.calls;
    await approve(request);
    expect([await end(taskId), bank.calls]).toEqual([EXECUTED, before + 1]);
  });

  it('keep an approved call from running when they are no longer met [REQ-004, REQ-015]', async () => {
    const { taskId, request } = await hold();
    const before = bank.calls;
    flag(`${FLAG}: false`);
    await approve(request);
    expect(await end(taskId)).toEqual(NOT_EXECUTED);
    expect([(await opened(taskId))?.reason, bank.calls]).toEqual(['requirement_unmet', before]);
    const { result } = (await stack.rpc(await stack.token('agent'), 'tasks/get', { taskId })).body.result ?? {};
    expect(JSON.stringify(result)).toContain('a requirement of the tool was not met');
  });

  it('make an approved call wait while they cannot be checked [REQ-015]', async () => {
    const { taskId, request } = await hold();
    const before = bank.calls;
    rmSync(flagsFile);
    await approve(request);
    await waitFor(
      async () => (await opened(taskId))?.state === 'granted' && stack.log('up').includes('cannot be checked'),
    );
    expect(bank.calls).toBe(before);
    flag(`${FLAG}: true`);
    expect([await end(taskId), bank.calls]).toEqual([EXECUTED, before + 1]);
  });
});

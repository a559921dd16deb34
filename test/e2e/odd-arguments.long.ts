import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { expectInvariants } from '../invariants/check-invariants.ts';
import { post } from '../support/gateway-wire.ts';
import { MortalUpstream } from '../support/mortal-upstream.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { openWork } from '../support/traces.ts';
import { waitFor } from '../support/wait-for.ts';

const POLICIES = `
  @id("test-note") @requestable("operator_approval") @reason("approval_required") @title("Note") @description("Notes.")
  permit (principal, action == Action::"tools/call", resource)
  when { resource.id == "ledger__note" && context has approval && context.approval.verified };`;
const LIMIT = 4 * 1024 * 1024;

let stack!: Stack;
let ledger!: MortalUpstream;
beforeAll(async () => {
  ledger = new MortalUpstream(await freePort());
  await ledger.start();
  stack = await startStack({
    parts: 'together',
    servers: 'shared',
    policies: POLICIES,
    mcpServers: { ledger: { url: ledger.url } },
  });
  await waitFor(
    async () => (await call('[]')).status !== 200 || (await call('[]')).body.error?.message !== 'Unknown tool',
  );
});
afterAll(async () => {
  await stack?.stop();
  await ledger.stop();
});

/** The text of a whole request with these arguments. */
const request = (args: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ledger__note","arguments":${args},"_meta":{` +
  '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},' +
  '"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}';
const call = async (args: string) =>
  post({ mcpUrl: stack.config.urls.mcp }, request(args), {
    authorization: `Bearer ${await stack.token('agent')}`,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'ledger__note',
  });
const roomFor = (frame: string) => LIMIT - Buffer.byteLength(request(frame));
const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;
const members = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join(',')}}`;

describe('accepted arguments', () => {
  it.each([
    ['nothing', () => '{}'],
    ['one member', () => '{"a":1}'],
    ['the null character', () => '{"a":"x\\u0000y","\\u0000":"\\\\u0000"}'],
    ['every control character', () => `{"a":${JSON.stringify(String.fromCharCode(...Array(32).keys(), 127, 0x2028))}}`],
    ['members that every object has', () => '{"constructor":{"prototype":1},"toString":2,"hasOwnProperty":3}'],
    ['the smallest and the largest numbers', () => '{"a":5e-324,"b":1.7976931348623157e308,"c":9007199254740992}'],
    ['a zero with a sign', () => '{"a":-0}'],
    ['fractions that are usually rounded', () => '{"a":0.1000000000000000055}'],
    ['members without a name', () => '{"":{"":[]}}'],
    ['characters of every plane', () => '{"a":"\\ud83d\\ude00\uffff\u{10ffff}"}'],
    ['the allowed number of levels', () => nested(64)],
    ['many members', () => members(2_000)],
    ['a long text', () => `{"a":"${'x'.repeat(200_000)}"}`],
  ])('%s: are approved and executed unchanged [HTTP-028]', async (_case, make) => {
    const text = make();
    const answer = await call(text);
    expect([answer.status, answer.body.error]).toEqual([200, undefined]);
    expect(answer.body.result).toMatchObject({ resultType: 'task' });
    const [shown] = await stack.openRequests(1);
    const { rows } = await (
      await stack.database()
    ).query<{ context: string }>('SELECT context FROM approvals.access_request WHERE id = $1', [shown?.id]);
    // Zero has no sign in canonical form (RFC 8785).
    const sent: unknown = JSON.parse(text.replaceAll('-0', '0'));
    expect((JSON.parse(rows[0]?.context ?? '{}') as { arguments: unknown }).arguments).toEqual(sent);
    const before = ledger.arguments.length;
    expect((await stack.decide(shown, { verdict: 'approve' })).status).toBe(200);
    await waitFor(async () => (await openWork(stack)).length === 0);
    expect(ledger.arguments.slice(before)).toEqual([sent]);
  });
});

describe('refused arguments', () => {
  it.each([
    ['an invalid number', () => '{"a":1e400}', 200],
    ['half a character', () => '{"a":"\\ud800"}', 200],
    ['half a character as a name', () => '{"\\udc00":1}', 200],
    ['one level too many', () => nested(65), 200],
    ['ten thousand levels', () => nested(10_000), 400],
    ['a hundred thousand lists', () => `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 400],
    ['an integer that no double holds', () => '{"amount":9007199254740993}', 200],
    ['a member twice', () => '{"amount":1,"amount":1000000}', 400],
    ['a member twice, in other spellings', () => '{"amount":1,"\\u0061mount":1000000}', 400],
    ['a member that would get lost', () => '{"__proto__":{"admin":true}}', 400],
    ['a value that is not a number', () => '{"a":NaN}', 400],
    ['a million members', () => members(1_000_000), 413],
    ['one byte more than the limit', () => `{"a":"${'x'.repeat(roomFor('{"a":""}') + 1)}"}`, 413],
  ])('%s: cause an error message, leave no trace, and are no fault of ours', async (_case, make, status) => {
    const before = ledger.arguments.length;
    const answer = await call(make());
    expect([answer.status, answer.text.length < 600]).toEqual([status, true]);
    const said = answer.body.error?.message ?? JSON.stringify(answer.body.result);
    expect(said).toMatch(/Its arguments are not valid|Parse error|too large|Invalid/);
    expect(said).not.toMatch(/internal/i);
    expect([ledger.arguments.length, await openWork(stack)]).toEqual([before, []]);
  });

  it('a body at exactly the limit is read', async () => {
    const answer = await call(`{"a":"${'x'.repeat(roomFor('{"a":""}'))}"}`);
    expect(answer.status).toBe(200);
    const [shown] = await stack.openRequests(1);
    expect((await stack.decide(shown, { verdict: 'deny' })).status).toBe(200);
    await waitFor(async () => (await openWork(stack)).length === 0);
    await expectInvariants(await stack.database());
  });
});

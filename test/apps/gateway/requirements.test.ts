import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { ALICE, requestable } from '../../support/gateway-world.ts';
import { metaOf, SERVER_INFO, send, transfer } from '../../support/gateway-wire.ts';

const gateway = new GatewayUnderTest();
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const call = (params = transfer(), options = {}) => send(gateway, 'tools/call', params, options);
const UNMET = 'dev.countersign/unmet-requirements';

/** A client of an earlier revision, on the official package. */
async function withEarlierClient<T>(use: (client: EarlierClient) => Promise<T>): Promise<T> {
  const client = new EarlierClient({ name: 'earlier', version: '0' });
  const requestInit = { headers: { authorization: 'Bearer token-of-alice' } };
  await client.connect(new EarlierTransport(new URL(gateway.mcpUrl), { requestInit }));
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

describe('a call of a tool with requirements', () => {
  it.each([
    ['is not met', { unmet: ['env:test'], undecided: [] }],
    ['cannot be checked', { unmet: [], undecided: ['env:test'] }],
  ])(
    'is refused by name when one %s, and no request is opened and no tool runs [REQ-004, REQ-005, REQ-006, REQ-014]',
    async (_case, verdict) => {
      world.verdict = verdict;
      world.decision = requestable();
      const { status, body } = await call();
      expect(status).toBe(200);
      expect(body.result).toEqual({
        resultType: 'complete',
        isError: true,
        content: [{ type: 'text', text: 'The tool did not run. Unmet requirement: env:test' }],
        _meta: { [UNMET]: ['env:test'], [SERVER_INFO]: expect.anything() },
      });
      expect([world.evaluations, world.openings, world.invocations]).toEqual([[], [], []]);
    },
  );

  it('is checked for this caller and this tool, with the claims of the token', async () => {
    await call();
    const claims = expect.objectContaining({ roles: ['teller'] });
    expect(world.questions).toEqual([{ requirements: ['env:test'], tool: 'bank__transfer', caller: ALICE, claims }]);
  });

  it('is still decided by policy when every requirement is met [REQ-013]', async () => {
    world.decision = { kind: 'deny' };
    expect((await call()).body.result).toMatchObject({ isError: true });
    expect([world.evaluations.length, world.invocations]).toEqual([1, []]);
  });

  it('is checked for valid arguments first', async () => {
    world.verdict = { unmet: ['env:test'], undecided: [] };
    expect(metaOf((await call(transfer({ arguments: {} }))).body.result)[UNMET]).toBeUndefined();
    expect(world.questions).toEqual([]);
  });

  it('is refused alike for a client that does not know requirements [REQ-007]', async () => {
    world.verdict = { unmet: ['env:test'], undecided: [] };
    const result = await withEarlierClient((client) => client.callTool(transfer()));
    expect(result).toMatchObject({ isError: true, _meta: { [UNMET]: ['env:test'] } });
    expect(world.invocations).toEqual([]);
  });

  it('stores only the claims of the token that requirements need, when it waits', async () => {
    world.decision = requestable();
    await call();
    expect(world.openings[0]?.binding.claims).toEqual({ roles: ['teller'] });
    expect(JSON.stringify(world.openings)).not.toContain('canary-mail');
  });
});

describe('the list of tools', () => {
  it("shows a tool's requirements twice, because official clients drop the first place [REQ-001, REQ-012, REQ-016]", async () => {
    const { tools } = (await send(gateway, 'tools/list')).body.result as { tools: Record<string, unknown>[] };
    expect(tools[0]).toMatchObject({
      execution: { requirements: ['env:test'] },
      _meta: { 'dev.countersign/requirements': ['env:test'], 'com.example/kept': 1 },
    });
    expect(tools[1]).not.toHaveProperty('execution');
    expect(tools[1]).not.toHaveProperty('_meta');
    const listed = await withEarlierClient((client) => client.listTools());
    expect(listed.tools[0]?._meta).toMatchObject({ 'dev.countersign/requirements': ['env:test'] });
  });

  it('drops members that an upstream writes in our name', async () => {
    expect((await send(gateway, 'tools/list')).text).not.toContain('canary-forged');
  });
});

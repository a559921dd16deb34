import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Json } from '../../../workflows/domain/canonical-json.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { aView, REQUEST_REF, requestable } from '../../support/gateway-world.ts';
import { send, textOf, transfer } from '../../support/gateway-wire.ts';
import { beginSession, openWire } from '../../support/session-wire.ts';

let gateway: GatewayUnderTest;
beforeAll(async () => {
  gateway = new GatewayUnderTest();
  await gateway.start();
});
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const REVISIONS = ['2025-03-26', '2025-06-18', '2025-11-25'];
const SAID = [{ type: 'text', text: 'said' }];
/** Values of the present revision alone, and the text in which each stands in an earlier one. */
const VALUES: readonly [value: Json, text: string][] = [
  [[1], '[1]\nsaid'],
  [7, '7\nsaid'],
  [0, '0\nsaid'],
  ['a', '"a"\nsaid'],
  [true, 'true\nsaid'],
  [[], '[]\nsaid'],
  [null, 'said'],
];

/** How a tool's result comes: of an allowed call, of a held one, and by its status. */
const WAYS: Readonly<Record<string, (result: object) => object>> = {
  'an allowed call': (result) => {
    gateway.world.invocation = { kind: 'result', isError: false, result: result as never };
    return transfer();
  },
  'a held call': (result) => {
    gateway.world.decision = requestable();
    gateway.world.view = aView({ state: 'executed', result: JSON.stringify(result) });
    return transfer();
  },
  'the status of a held call': (result) => {
    gateway.world.view = aView({ state: 'executed', result: JSON.stringify(result) });
    return { name: 'get_request_status', arguments: { reference: REQUEST_REF } };
  },
};

describe.each(Object.entries(WAYS))('the result of %s', (_way, arrange) => {
  it.each(REVISIONS)('has no structured result that is no object in the revision %s', async (revision) => {
    const session = await beginSession(gateway, { revision });
    for (const [structuredContent, text] of VALUES) {
      const { result } = await session.ask('tools/call', arrange({ content: SAID, structuredContent }));
      expect(result).not.toHaveProperty('structuredContent');
      expect([result?.['isError'] ?? false, textOf(result)]).toEqual([false, expect.stringContaining(text)]);
    }
    const { result } = await session.ask('tools/call', arrange({ content: SAID, structuredContent: { n: 1 } }));
    expect(result?.['structuredContent']).toMatchObject({ n: 1 });
  });

  it('reaches the official client of earlier revisions', async () => {
    const client = new Client({ name: 'earlier', version: '0' });
    const requestInit = { headers: { authorization: 'Bearer token-of-alice' } };
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.mcpUrl), { requestInit }));
    for (const [structuredContent, text] of VALUES) {
      const result = await client.callTool(arrange({ content: SAID, structuredContent }) as never);
      expect(textOf(result)).toContain(text);
    }
    await client.close();
  });

  it('keeps its value in the present revision', async () => {
    for (const [structuredContent] of VALUES) {
      const params = arrange({ content: SAID, structuredContent }) as Record<string, unknown>;
      const { result } = (await send(gateway, 'tools/call', params, { capabilities: {} })).body;
      expect(result?.['structuredContent']).toEqual(structuredContent);
    }
  });

  it('does not repeat what a text of the tool says already', async () => {
    const session = await beginSession(gateway);
    const content = [{ type: 'text', text: '[1,2]' }];
    const { result } = await session.ask('tools/call', arrange({ content, structuredContent: [1, 2] }));
    expect(textOf(result).match(/\[1,2\]/g)).toHaveLength(1);
  });
});

describe('content of a kind that the revision lacks', () => {
  const link = { type: 'resource_link', uri: 'file:///a', name: 'a' };
  const audio = { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' };
  const unknown = { type: 'hologram', data: 'x' };
  const proto = { type: '__proto__', data: 'x' };
  const content = [link, audio, unknown, proto, ...SAID];

  it.each([
    ['2025-03-26', ['text', 'audio', 'text', 'text', 'text']],
    ['2025-06-18', ['resource_link', 'audio', 'text', 'text', 'text']],
    ['2025-11-25', ['resource_link', 'audio', 'text', 'text', 'text']],
  ] as const)('comes as JSON in a text in the revision %s, in its place', async (revision, kinds) => {
    const session = await beginSession(gateway, { revision });
    const { result } = await session.ask('tools/call', WAYS['an allowed call']?.({ content }));
    const got = result?.['content'] as { type: string; text?: string }[];
    expect(got.map(({ type }) => type)).toEqual(kinds);
    for (const [index, block] of got.entries())
      if (block.type === 'text' && index < 4) expect(JSON.parse(block.text ?? '')).toEqual(content[index]);
  });

  it.each([[undefined], [null], ['text'], [[null, 7, { text: 'no type' }]]])(
    'is a list of texts, even of a server that sends %j',
    async (sent) => {
      const session = await beginSession(gateway);
      const { result } = await session.ask('tools/call', WAYS['an allowed call']?.({ content: sent }));
      expect(result?.['content']).toEqual(
        Array.isArray(sent) ? sent.map((one) => ({ type: 'text', text: JSON.stringify(one) })) : [],
      );
    },
  );

  it.each<[headers: Record<string, string>, kind: string]>([
    [{}, 'text'],
    [{ 'mcp-protocol-version': '2025-11-25' }, 'resource_link'],
  ])('of a client without a session counts by the header %j', async (headers, kind) => {
    const params = WAYS['an allowed call']?.({ content: [link], structuredContent: [1] });
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const answer = await openWire(gateway, { body, headers });
    await answer.ended;
    expect(answer.messages()[0]?.result).toMatchObject({ content: [{ type: 'text', text: '[1]' }, { type: kind }] });
  });
});

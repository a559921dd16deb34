import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { asking, EVERYTHING, startRelayingGateway } from '../../support/relaying-gateway.ts';
import { beginSession, continueSession } from '../../support/session-wire.ts';

let gateway: Awaited<ReturnType<typeof startRelayingGateway>>;
beforeAll(async () => {
  gateway = await startRelayingGateway();
});
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

/** The official client of earlier revisions, which answers every question. */
async function connect(mcpUrl: string) {
  const client = new Client({ name: 'earlier', version: '0' }, { capabilities: EVERYTHING });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
    action: 'accept',
    content: JSON.stringify(params).includes('color') ? { color: 'red' } : { name: 'Ada' },
  }));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant',
    content: { type: 'text', text: 'Paris' },
    model: 'test',
  }));
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///work' }] }));
  const token = await gateway.real.authority.token({ aud: gateway.real.mcpUrl });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const transport = new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit });
  await client.connect(transport);
  return { client, transport };
}

describe('the official client of earlier revisions', () => {
  it('answers every kind of question of an upstream during a call', async () => {
    const { client, transport } = await connect(gateway.real.mcpUrl);
    try {
      const textFor = async (name: string) => JSON.stringify((await client.callTool(asking(name))).content);
      expect(transport.sessionId).toBeDefined();
      expect(await textFor('elicitation')).toContain('Hello, Ada!');
      expect(await textFor('sampling')).toContain('Paris');
      expect(await textFor('list_roots')).toContain('file:///work');
      expect(await textFor('multiple_inputs')).toContain('All is answered.');
      expect(await textFor('multi_round')).toContain('Both rounds are over.');
    } finally {
      await client.close();
    }
  });

  it('ends its session, whose id then stands for none', async () => {
    const { client, transport } = await connect(gateway.real.mcpUrl);
    const id = transport.sessionId;
    await transport.terminateSession();
    await client.close();
    const token = await gateway.real.authority.token({ aud: gateway.real.mcpUrl });
    expect((await continueSession(gateway.real, id, { token }).start('ping')).status).toBe(404);
  });
});

describe('another replica', () => {
  it('does not know the session, does nothing, and serves the client that begins anew', async () => {
    const replica = await gateway.real.another();
    const token = await gateway.real.authority.token({ aud: [gateway.real.mcpUrl, replica.mcpUrl] });
    try {
      const session = await beginSession(gateway.real, { token });
      const astray = continueSession(replica, session.id, { token });
      gateway.upstream.received.length = 0;
      const answer = await astray.start('tools/call', asking('elicitation'));
      await answer.ended;
      expect([answer.status, answer.text()]).toEqual([
        404,
        '{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}',
      ]);
      expect(gateway.upstream.of('tools/call')).toEqual([]);
      const anew = await beginSession(replica, { token });
      expect(await anew.ask('ping')).toMatchObject({ result: {} });
      expect(await session.ask('ping')).toMatchObject({ result: {} });
    } finally {
      await replica.stop();
    }
  });
});

it('a gateway that stops takes open questions back, and lets their calls end', async () => {
  const replica = await gateway.real.another();
  const token = await gateway.real.authority.token({ aud: [gateway.real.mcpUrl, replica.mcpUrl] });
  const session = await beginSession(replica, { token, capabilities: EVERYTHING });
  const listening = await session.listen();
  const stream = await session.start('tools/call', asking('elicitation'));
  const question = await stream.next(({ method }) => method === 'elicitation/create');
  const stopped = replica.stop();
  await stream.ended;
  expect(stream.messages().slice(1)).toMatchObject([
    { method: 'notifications/cancelled', params: { requestId: question.id } },
    { result: { isError: true, content: [{ text: expect.stringMatching(/^The tool did not finish/) }] } },
  ]);
  await listening.ended;
  await stopped;
  expect(gateway.upstream.of('tools/call')).toHaveLength(1);
});

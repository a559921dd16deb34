import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { post, send, transfer, type Sent } from '../../support/gateway-wire.ts';

const gateway = new GatewayUnderTest({
  scopes: ['mcp', 'tools'],
  tools: { bank__transfer: { scopes: ['bank:write', 'mcp'] } },
});
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const callTransfer = () => send(gateway, 'tools/call', transfer());
const OF_THE_GATEWAY = ['mcp', 'tools'];
const OF_THE_TRANSFER = ['mcp', 'tools', 'bank:write'];
const challengeOf = ({ status, headers }: Sent) => {
  const header = headers.get('www-authenticate') ?? '';
  return { status, scope: /scope="([^"]*)"/.exec(header)?.[1], error: /error="([^"]*)"/.exec(header)?.[1] };
};
const insufficient = (scopes: readonly string[]) => ({
  status: 403,
  scope: scopes.join(' '),
  error: 'insufficient_scope',
});

describe('a token', () => {
  it.each([[[]], [['mcp']], [['mcp tools']]])('with the scopes %j is refused, for any body', async (scopes) => {
    gateway.world.scopes = scopes;
    for (const answer of [await send(gateway, 'tools/list'), await callTransfer(), await notEvenJson()]) {
      expect(challengeOf(answer)).toEqual(insufficient(OF_THE_GATEWAY));
    }
    expect(gateway.world.evaluations).toEqual([]);
  });

  it('with the scopes of the gateway lists tools, and calls tools that need no other scope', async () => {
    gateway.world.scopes = OF_THE_GATEWAY;
    expect((await send(gateway, 'tools/list')).status).toBe(200);
    expect((await send(gateway, 'tools/call', { name: 'bank__anything', arguments: {} })).status).toBe(200);
    expect(gateway.world.invocations).toHaveLength(1);
  });

  it('without a scope of the tool is told of all the scopes of the call at once, before a decision [AUTHZ-003]', async () => {
    gateway.world.scopes = OF_THE_GATEWAY;
    const answer = await callTransfer();
    expect(challengeOf(answer)).toEqual(insufficient(OF_THE_TRANSFER));
    expect(answer.headers.get('www-authenticate')).toContain(
      `resource_metadata="${gateway.url}/.well-known/oauth-protected-resource/mcp"`,
    );
    expect([gateway.world.evaluations, gateway.world.openings, gateway.world.invocations]).toEqual([[], [], []]);
  });

  it.each([
    ['in no header', {}],
    ['in another scheme', { authorization: 'Basic YTpi' }],
    ['in an empty header', { authorization: 'Bearer' }],
  ])('that comes %s is asked for, without an error code [AUTHZ-002]', async (_case, headers) => {
    const answer = await post(gateway, '{}', headers);
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer scope="mcp tools", resource_metadata="${gateway.url}/.well-known/oauth-protected-resource/mcp"`,
    ]);
    expect(answer.text).not.toContain('error');
  });

  it.each(['nonsense', 'nonsense and more'])('that is "%s" is called invalid [AUTHZ-002]', async (token) => {
    const answer = await post(gateway, '{}', { authorization: `Bearer ${token}` });
    expect(challengeOf(answer)).toEqual({ status: 401, scope: 'mcp tools', error: 'invalid_token' });
  });

  it('with all scopes of the tool calls it', async () => {
    gateway.world.scopes = [...OF_THE_TRANSFER].reverse();
    expect((await callTransfer()).body.result).toMatchObject({ content: [{ text: 'booked' }] });
  });

  it('without a scope of the tool cannot call it in a batch of an earlier revision', async () => {
    gateway.world.scopes = OF_THE_GATEWAY;
    const call = (name: string) => ({
      jsonrpc: '2.0',
      id: name,
      method: 'tools/call',
      params: { name, arguments: {} },
    });
    const batch = JSON.stringify([call('bank__anything'), call('bank__transfer')]);
    const answer = await post(gateway, batch, { authorization: 'Bearer token-of-alice' });
    expect(challengeOf(answer)).toEqual(insufficient(OF_THE_TRANSFER));
    expect(gateway.world.invocations).toEqual([]);
  });
});

it('the metadata of the resource names every required scope', async () => {
  const metadata = await fetch(`${gateway.url}/.well-known/oauth-protected-resource/mcp`);
  expect(await metadata.json()).toMatchObject({ scopes_supported: OF_THE_TRANSFER });
});

function notEvenJson(): Promise<Sent> {
  return post(gateway, '{', { authorization: 'Bearer token-of-alice' });
}

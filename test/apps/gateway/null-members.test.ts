import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { post, requestOf, send, transfer } from '../../support/gateway-wire.ts';
import { ANYTHING } from '../../support/tools.ts';

const gateway = new GatewayUnderTest();
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

/** A request of an earlier revision, without a session. */
const earlier = (message: object) =>
  post(gateway, JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }), {
    authorization: 'Bearer token-of-alice',
    'mcp-protocol-version': '2025-06-18',
  });

it('a call whose arguments are null has none', async () => {
  world.listed = [ANYTHING];
  world.decision = { kind: 'allow' };
  const { body } = await send(gateway, 'tools/call', { name: 'bank__anything', arguments: null });
  expect(body.result).toMatchObject({ content: [{ text: 'booked' }] });
  expect(world.invocations).toMatchObject([{ arguments: {} }]);
});

it.each([
  ['metadata', { method: 'tools/list', params: { _meta: null } }],
  ['parameters', { method: 'tools/list', params: null }],
])('a request of an earlier revision whose %s is null has none', async (_what, message) => {
  expect((await earlier(message)).text).toContain('bank__transfer');
});

it('a null deeper in the arguments stays, as the caller wrote it', async () => {
  world.listed = [ANYTHING];
  world.decision = { kind: 'allow' };
  const args = { arguments: null, _meta: null, params: [null], kept: { params: null } };
  const { body, headers } = requestOf('tools/call', transfer({ name: 'bank__anything', arguments: args }), {});
  await post(gateway, body, headers);
  expect(world.invocations).toMatchObject([{ arguments: args }]);
});

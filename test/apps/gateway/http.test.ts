import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { signedHeaders } from '../../../apps/shared/http/webhook-signature.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { CALLBACK_SECRET, TASK_ID } from '../../support/gateway-world.ts';
import { post, send, transfer } from '../../support/gateway-wire.ts';

const gateway = new GatewayUnderTest({ maxBodyBytes: 4 * 1024 * 1024 });
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());
const ALICE = { authorization: 'Bearer token-of-alice' };
const STACK = /\bat .*:\d+|node_modules|<html/i;

describe('the access token [STATELESS-017, AUTHZ-002, AUTHZ-007, DENIAL-019]', () => {
  it.each([
    ['is missing', {}],
    ['is unknown, forged or expired', { authorization: 'Bearer nonsense' }],
    ['comes in another scheme', { authorization: 'Basic YTpi' }],
  ])('%s: the request is refused and told where tokens come from', async (_case, headers) => {
    const { status, headers: answer, text } = await post(gateway, '{}', headers);
    expect(status).toBe(401);
    expect(answer.get('www-authenticate')).toContain(
      `resource_metadata="${gateway.url}/.well-known/oauth-protected-resource/mcp"`,
    );
    expect(text).not.toMatch(/canary/);
    expect(text).not.toMatch(STACK);
  });

  it('cannot be checked: the client does not learn that its token is bad, nor the cause', async () => {
    gateway.world.tokensFail = new CountersignError('ERR_IDENTITY_PROVIDER_UNAVAILABLE', 'canary');
    const { status, headers, body, text } = await post(gateway, '{}', ALICE);
    expect([status, headers.get('www-authenticate'), headers.get('retry-after')]).toEqual([503, null, '5']);
    expect(body.error?.message).toBe('The gateway cannot check your token now. The request may be repeated later.');
    expect(text).not.toMatch(/canary/);
  });

  it('cannot be checked for an unexpected reason: the same, and no promise that a repetition helps', async () => {
    gateway.world.tokensFail = new Error('canary');
    const { status, headers, text } = await post(gateway, '{}', ALICE);
    expect([status, headers.get('www-authenticate')]).toEqual([500, null]);
    expect(text).not.toMatch(/canary/);
  });

  it('in the address is ignored [AUTHZ-006]', async () => {
    const { status } = await post({ mcpUrl: `${gateway.mcpUrl}?access_token=token-of-alice` }, '{}', {});
    expect(status).toBe(401);
  });

  it('is issued by the server that the resource metadata names [AUTHZ-001]', async () => {
    const response = await fetch(`${gateway.url}/.well-known/oauth-protected-resource/mcp`);
    expect(await response.json()).toMatchObject({
      resource: gateway.mcpUrl,
      authorization_servers: ['http://127.0.0.1:4104'],
    });
  });
});

describe('the body', () => {
  it.each([['{"jsonrpc":'], [''], ['\u0000'], ['{"a":1}}']])('%p is a parse error', async (body) => {
    const answer = await post(gateway, body, ALICE);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.body.jsonrpc).toBe('2.0');
    expect([-32_700, -32_600]).toContain(answer.body.error?.code);
    expect(answer.text).not.toMatch(STACK);
  });

  it('answers malformed JSON with -32700', async () => {
    const { body } = await post(gateway, '{"jsonrpc":', ALICE);
    expect(body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32_700 } });
  });

  it.each([['5'], ['"x"'], ['null'], ['[]'], ['{}'], ['{"jsonrpc":"1.0","id":1,"method":"x"}']])(
    '%s is not a request',
    async (body) => {
      const answer = await post(gateway, body, ALICE);
      expect(answer.status).toBe(400);
      expect(answer.body.error?.code).toBeLessThan(-32_000);
      expect(answer.text).not.toMatch(STACK);
    },
  );

  it('of five megabytes is refused with a JSON body, and the gateway continues', async () => {
    const { status, body, text } = await post(gateway, JSON.stringify({ a: 'x'.repeat(5 * 1024 * 1024) }), ALICE);
    expect(status).toBe(413);
    expect(body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32_600 } });
    expect(text).not.toMatch(STACK);
    expect((await send(gateway, 'tools/list')).status).toBe(200);
  });

  it('of another type is refused', async () => {
    const { status, text } = await post(gateway, 'a=1', { ...ALICE, 'content-type': 'text/plain' });
    expect(status).toBe(415);
    expect(text).not.toMatch(STACK);
  });
});

describe('the envelope', () => {
  it('with an unknown revision is refused with the list of known revisions [STATELESS-007, HTTP-008]', async () => {
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2027-01-01',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    };
    const { status, body } = await post(gateway, JSON.stringify(message), {
      ...ALICE,
      'mcp-protocol-version': '2027-01-01',
      'mcp-method': 'tools/list',
    });
    expect([status, body.error?.code]).toEqual([400, -32_022]);
    expect(body.error?.data).toMatchObject({ supported: ['2026-07-28'], requested: '2027-01-01' });
  });

  it('that contradicts its headers is refused before any decision [HTTP-011]', async () => {
    const { status, body } = await send(gateway, 'tools/call', transfer(), { headers: { 'mcp-name': 'bank__other' } });
    expect([status, body.error?.code]).toEqual([400, -32_020]);
    expect(gateway.world.evaluations).toEqual([]);
  });
});

describe('no answer may be stored [CACHE-008]', () => {
  const earlier = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });

  it.each([
    ['a task', () => send(gateway, 'tasks/get', { taskId: TASK_ID })],
    ['an unknown task', () => send(gateway, 'tasks/get', { taskId: 'tsk_unknown' })],
    ['an acknowledgement', () => send(gateway, 'tasks/cancel', { taskId: TASK_ID })],
    ['a result', () => send(gateway, 'tools/call', transfer())],
    ['a stream', () => send(gateway, 'subscriptions/listen', { notifications: {} })],
    ['a client of an earlier revision', () => post(gateway, earlier, ALICE)],
    ['a removed method', () => send(gateway, 'tasks/result', { taskId: TASK_ID })],
    ['a body that is not JSON', () => post(gateway, '{', ALICE)],
    ['a request without a token', () => post(gateway, '{}', {})],
  ])('%s', async (_case, ask) => {
    expect((await ask()).headers.get('cache-control')).toBe('no-store');
  });
});

describe('the headers that name a task', () => {
  it.each([
    ['are empty', { 'mcp-name': '' }],
    ['name another one', { 'mcp-name': 'tsk_other' }],
    ['name another method', { 'mcp-method': 'tasks/cancel' }],
    ['have a forbidden encoding', { 'mcp-name': '=?base64?!?=' }],
  ])('are refused before a lookup when they %s', async (_case, headers) => {
    const { status, body } = await send(gateway, 'tasks/get', { taskId: TASK_ID }, { headers });
    expect([status, body.error?.code]).toEqual([400, -32_020]);
    expect(gateway.world.lookups).toEqual([]);
  });

  it('may be encoded and surrounded by spaces', async () => {
    const encoded = `  =?base64?${Buffer.from(TASK_ID).toString('base64')}?=`;
    const { body } = await send(gateway, 'tasks/get', { taskId: TASK_ID }, { headers: { 'mcp-name': encoded } });
    expect(body.result).toMatchObject({ taskId: TASK_ID });
  });
});

describe('the headers host and origin', () => {
  const status = (headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const request = httpRequest(gateway.mcpUrl, { method: 'POST', headers: { ...ALICE, ...headers } }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
      });
      request.on('error', reject).end('{}');
    });

  it('are refused when they name another site [HTTP-002]', async () => {
    expect(await status({ host: 'evil.test' })).toBe(403);
    expect(await status({ origin: 'https://evil.test' })).toBe(403);
    expect(await status({ origin: 'null' })).toBe(403);
    expect(await status({ host: 'localhost:4100' })).not.toBe(403);
  });
});

describe('other paths', () => {
  it('answer a health check', async () => {
    expect(await (await fetch(`${gateway.url}/healthz`)).json()).toEqual({ status: 'ok' });
  });

  it('are not found, in JSON', async () => {
    const response = await fetch(`${gateway.url}/admin`);
    expect([response.status, await response.json()]).toEqual([404, { error: 'not found' }]);
    expect(response.headers.get('x-powered-by')).toBeNull();
  });
});

describe('a callback', () => {
  const body = JSON.stringify({ state: 's', task: { id: 'arq_1', status: 'approved' }, result: { mode: 'forged' } });
  const webhook = new Webhook(CALLBACK_SECRET);
  const signed = (text: string, changes: Record<string, string> = {}, at = new Date()) => ({
    ...signedHeaders(webhook, { id: 'msg_1', at, body: text }),
    ...changes,
  });
  const callBack = async (text: string, headers: Record<string, string>) => {
    const response = await fetch(`${gateway.url}/callbacks/access-requests`, { method: 'POST', body: text, headers });
    return response.status;
  };

  it('with a signature is accepted as a hint about a request [ARAP-CB-07, PRJ-16]', async () => {
    expect(await callBack(body, signed(body))).toBe(204);
    expect(gateway.world.callbacks).toEqual([
      { webhookId: 'msg_1', accessRequestId: 'arq_1', bodyDigest: expect.stringMatching(/^sha-256:[0-9a-f]{64}$/) },
    ]);
  });

  it('is accepted when repeated, and refused as a conflict when it reuses an id for another body', async () => {
    gateway.world.callbackVerdict = 'repeated';
    expect(await callBack(body, signed(body))).toBe(204);
    gateway.world.callbackVerdict = 'conflict';
    expect(await callBack(body, signed(body))).toBe(409);
  });

  it.each([
    ['is not signed', body, { 'content-type': 'application/json' }],
    ['is signed with another key', body, signed(body, { 'webhook-signature': 'v1,AAAA' })],
    ['was altered', `${body} `, signed(body)],
    ['has another id than the signed one', body, signed(body, { 'webhook-id': 'msg_2' })],
    ['is ten minutes old', body, signed(body, {}, new Date(Date.now() - 600_000))],
    [
      'has extra characters after its time',
      body,
      signed(body, { 'webhook-timestamp': `${Math.floor(Date.now() / 1_000)}junk` }),
    ],
    ['is dated ten minutes from now', body, signed(body, {}, new Date(Date.now() + 600_000))],
  ])('that %s has no effect [ARAP-CB-09]', async (_case, text, headers) => {
    expect(await callBack(text, headers as Record<string, string>)).toBe(401);
    expect(gateway.world.callbacks).toEqual([]);
  });

  it.each([['{"task":{}}'], ['not JSON'], ['{"task":{"id":5}}']])('that says %s is refused', async (text) => {
    expect(await callBack(text, signed(text))).toBe(400);
    expect(gateway.world.callbacks).toEqual([]);
  });

  it('that is too large is refused', async () => {
    expect(await callBack('x'.repeat(70_000), signed('x'))).toBe(413);
  });
});

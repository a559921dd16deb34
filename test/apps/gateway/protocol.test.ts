import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { ALICE, requestable, TASK_ID } from '../../support/gateway-world.ts';
import { AUTHORIZATION, metaOf, post, send, transfer, type SendOptions } from '../../support/gateway-wire.ts';

const gateway = new GatewayUnderTest();
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const REVISION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const META = { [REVISION]: '2026-07-28', [CAPABILITIES]: {} };
const HEADERS = { authorization: 'Bearer token-of-alice', 'mcp-protocol-version': '2026-07-28' };

const call = (params = transfer(), options: SendOptions = {}) => send(gateway, 'tools/call', params, options);
const message = (method: string, meta: object = META, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params: { _meta: meta } });
const list = (headers: Record<string, string> = {}, body = message('tools/list')) =>
  post(gateway, body, { ...HEADERS, 'mcp-method': 'tools/list', ...headers });

describe('the metadata of a request', () => {
  it.each([REVISION, CAPABILITIES])(
    'is required: a request without %s is refused [STATELESS-001, HTTP-025]',
    async (key) => {
      const { [key]: _left, ...meta } = META as Record<string, unknown>;
      const { status, body } = await list({}, message('tools/list', meta));
      expect([status, body.error?.code]).toEqual([400, -32_602]);
    },
  );

  it('is read from each request, regardless of earlier ones [TASK-003, STATELESS-004]', async () => {
    world.decision = requestable();
    const kinds = [];
    for (const options of [{}, { capabilities: {} }, {}]) kinds.push((await call(transfer(), options)).body.result);
    expect(kinds.map((result) => result?.['resultType'])).toEqual(['task', 'complete', 'task']);
    expect(kinds[1]).not.toHaveProperty('taskId');
  });

  it('may have unknown members [EXT-011]', async () => {
    const capabilities = { unknown: { deep: [1] }, extensions: { 'com.example/unknown': { a: 1 } } };
    const params = transfer({ _meta: { 'com.example/unknown': { b: 2 } } });
    expect((await call(params, { capabilities })).body.result).toMatchObject({ resultType: 'complete' });
  });

  it('does not include a token: the token is read only from its header [AUTHZ-006]', async () => {
    const { authorization: _none, ...headers } = HEADERS;
    const inQuery = { mcpUrl: `${gateway.mcpUrl}?access_token=token-of-alice` };
    const answer = await post(inQuery, message('tools/list'), { ...headers, 'mcp-method': 'tools/list' });
    expect(answer.status).toBe(401);
  });

  it.each(['text', '', 0, 7, -1])('includes an id, which the answer repeats: %j [STATELESS-020]', async (id) => {
    expect((await list({}, message('tools/list', META, id))).body.id).toBe(id);
    const failed = await post(gateway, message('no/such', META, id), { ...HEADERS, 'mcp-method': 'no/such' });
    expect(failed.body).toMatchObject({ id, error: { code: -32_601 } });
  });
});

describe('headers', () => {
  it.each([
    ['another revision', { 'mcp-protocol-version': '2025-11-25' }],
    ['another method', { 'mcp-method': 'tools/call' }],
    ['the method in another case', { 'mcp-method': 'Tools/List' }],
    ['no method', { 'mcp-method': '' }],
  ])('that name %s are refused [HTTP-007, HTTP-010, HTTP-025]', async (_case, headers) => {
    const { status, body } = await list(headers);
    expect([status, body.error?.code]).toEqual([400, -32_020]);
  });

  it('may have names in any case, and values surrounded by spaces [HTTP-013]', async () => {
    const answer = await post(gateway, message('tools/list'), { ...HEADERS, 'MCP-METHOD': '  tools/list ' });
    expect(answer.status).toBe(200);
  });

  it('may encode a name, and broken encodings are refused [HTTP-014]', async () => {
    const encoded = Buffer.from('bank__transfer').toString('base64');
    const named = (name: string) => call(transfer(), { headers: { 'mcp-name': name } });
    expect((await named(`=?base64?${encoded}?=`)).body.result).toMatchObject({ resultType: 'complete' });
    for (const broken of [encoded.slice(0, -1), `${encoded.slice(0, -2)}*=`]) {
      const { status, body } = await named(`=?base64?${broken}?=`);
      expect([status, body.error?.code]).toEqual([400, -32_020]);
    }
  });

  it('of sessions and streams of earlier revisions are ignored [SESSION-001, HTTP-023]', async () => {
    const answer = await list({ 'mcp-session-id': 'a-session', 'last-event-id': '7' });
    expect(answer.status).toBe(200);
    expect(answer.body.result).toHaveProperty('tools');
    expect(answer.headers.get('mcp-session-id')).toBeNull();
  });
});

describe('a body', () => {
  it.each([
    ['a list with one request', `[${message('tools/list')}]`],
    ['a list of two requests', `[${message('tools/list')},${message('tools/list', META, 2)}]`],
    ['an answer', '{"jsonrpc":"2.0","id":1,"result":{}}'],
  ])('is one request, and never %s [HTTP-004]', async (_case, body) => {
    const answer = await list({}, body);
    expect(answer.status).toBe(400);
    expect(answer.body).not.toHaveProperty('result');
  });

  it('must be UTF-8, because a repeated member could hide in another character set', async () => {
    const { status, body } = await list({ 'content-type': 'application/json; charset=utf-16' });
    expect([status, body.error?.code]).toEqual([415, -32_600]);
  });

  it.each(['gzip', 'deflate', 'br'])('that is falsely declared as %s is an error of the sender', async (encoding) => {
    const { status, body } = await list({ 'content-encoding': encoding });
    expect([status, body.error?.code]).toEqual([400, -32_600]);
  });

  it('with too many levels is refused, and one with a level less is read', async () => {
    const nested = (levels: number) => {
      const inputResponses = JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`) as object;
      return send(gateway, 'tools/call', { ...transfer(), inputResponses });
    };
    // The rest of the request has two levels.
    expect([(await nested(198)).status, (await nested(199)).status]).toEqual([200, 400]);
  });
});

describe('methods of HTTP', () => {
  it.each(['GET', 'DELETE'])('other than POST are refused: %s [HTTP-001, HTTP-024]', async (method) => {
    expect((await fetch(gateway.mcpUrl, { method, headers: HEADERS })).status).toBe(405);
    expect((await list()).status).toBe(200);
  });
});

describe('a notification', () => {
  it('is accepted, and cancels no task [HTTP-006, TASK-060]', async () => {
    world.decision = requestable();
    await call();
    const params = { requestId: 'r-1', _meta: META };
    const notice = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    const answer = await post(gateway, notice, { ...HEADERS, 'mcp-method': 'notifications/cancelled' });
    expect([answer.status, answer.text]).toEqual([202, '']);
    expect(world.cancelled).toEqual([]);
  });
});

describe('results', () => {
  it('name their kind, and only a call can be a task [STATELESS-018, STATELESS-019, TASK-008, TASK-011]', async () => {
    const kindOf = async (method: string, params = {}) =>
      (await send(gateway, method, params)).body.result?.['resultType'];
    expect(await kindOf('tools/call', transfer())).toBe('complete');
    world.decision = requestable();
    for (const method of ['server/discover', 'tools/list', 'tasks/get', 'tasks/update', 'tasks/cancel']) {
      expect([method, await kindOf(method, { taskId: TASK_ID, inputResponses: {} })]).toEqual([method, 'complete']);
    }
    expect(await kindOf('tools/call', transfer())).toBe('task');
    const { result } = (await send(gateway, 'server/discover')).body;
    expect(result).toHaveProperty(['capabilities', 'extensions', 'io.modelcontextprotocol/tasks']);
  });

  it('of server/discover and tools/list may be cached by this caller only [STATELESS-008, CACHE-003]', async () => {
    for (const method of ['server/discover', 'tools/list']) {
      const { result } = (await send(gateway, method)).body;
      expect(result).toMatchObject({ resultType: 'complete', cacheScope: 'private', ttlMs: expect.any(Number) });
      expect(result?.['ttlMs']).toBeGreaterThanOrEqual(0);
    }
  });

  it('of tools/list are the same before and after calls [SESSION-002, CACHE-009]', async () => {
    const before = (await list()).text;
    await call();
    world.decision = requestable();
    await call();
    expect((await list()).text).toBe(before);
  });
});

describe('a list that a client kept', () => {
  it('permits no call: each is decided for its caller with the current tools [CACHE-004]', async () => {
    expect((await list()).text).toContain('bank__transfer');
    expect((await call(transfer(), { token: 'token-of-mallory' })).body.result).toMatchObject({
      content: [{ text: 'booked' }],
    });
    expect(world.evaluations.map(({ subject }) => subject.id)).toEqual(['mallory']);
    world.decision = { kind: 'deny' };
    expect((await call()).body.result).toMatchObject({ isError: true });
    world.listed = [];
    expect((await call()).body.error?.code).toBe(-32_602);
    expect(world.invocations).toHaveLength(1);
  });
});

describe('a call', () => {
  it('is defined by its body and its token, even if headers repeat parts of it [HTTP-020]', async () => {
    world.decision = requestable();
    const repeated = { 'mcp-param-to': 'acct-9', 'mcp-param-amount': '1', 'mcp-param-subject': 'root' };
    for (const headers of [{}, repeated, { 'x-forwarded-user': 'root', 'x-user': 'root' }]) {
      await call(transfer(), { headers });
    }
    const [first, ...others] = world.openings.map(({ binding }) => binding);
    expect(first).toMatchObject({ caller: ALICE, arguments: '{"amount":5,"to":"acct-1"}' });
    expect(others).toEqual([first, first]);
  });

  it('cannot choose whether it becomes a task [TASK-002, TASK-102]', async () => {
    const { result } = (await call(transfer({ task: { ttl: 60_000 } }))).body;
    expect(result).toMatchObject({ resultType: 'complete' });
    expect(result).not.toHaveProperty('taskId');
  });

  it('is the same call in any trace [OTEL-003]', async () => {
    world.decision = requestable();
    for (const span of ['00f067aa0ba902b7', 'b7ad6b7169203331']) {
      await call(transfer({ _meta: { traceparent: `00-4bf92f3577b34da6a3ce929d0e0e4736-${span}-01` } }));
    }
    const [first, second] = world.openings.map(({ binding }) => binding);
    expect(first).toBeDefined();
    expect(second).toEqual(first);
  });

  it('has no error with a code that the protocol reserves or withdrew [STATELESS-021, STATELESS-022]', async () => {
    for (const code of [-32_000, -32_002, -32_003, -32_042, -32_099]) {
      world.invocation = { kind: 'error', code, message: 'of the upstream' };
      expect((await call()).body.error?.code).toBe(-32_603);
    }
  });

  it('is decided alike with and without a context handle of a denial [DENIAL-010]', async () => {
    world.decision = { kind: 'deny' };
    const handle = { 'io.modelcontextprotocol/authorization-context-id': 'made-up' };
    expect((await call(transfer({ _meta: handle }))).text).toBe((await call()).text);
    expect(world.evaluations[1]).toEqual(world.evaluations[0]);
  });
});

describe('the envelope of a denial', () => {
  it('has one shape, only in results, and hints where there is a remedy [DENIAL-003, DENIAL-005, DENIAL-011, DENIAL-012, DENIAL-034]', async () => {
    const envelopeOf = async (options: SendOptions = {}) => {
      const { result, error } = (await call(transfer(), options)).body;
      expect(error).toBeUndefined();
      return metaOf(result)[AUTHORIZATION];
    };
    const reason = 'insufficient_authorization';
    world.decision = { kind: 'deny' };
    expect(await envelopeOf()).toEqual({ reason, remediation: 'unavailable' });
    world.decision = requestable();
    expect(await envelopeOf({ capabilities: {} })).toEqual({ reason, remediation: 'undisclosed' });
    expect(await envelopeOf()).toEqual({ reason, remediation: 'available', remediationHints: [{ type: 'task' }] });
    world.opened = { kind: 'too_many' };
    expect(await envelopeOf()).toEqual({ reason, remediation: 'undisclosed' });
  });
});

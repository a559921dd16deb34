import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GatewayUnderTest } from '../support/gateway.ts';
import { aView, requestable, TASK_ID } from '../support/gateway-world.ts';
import { requestOf, REVISION, transfer, type SendOptions } from '../support/gateway-wire.ts';
import { UNCHECKABLE } from '../support/tools.ts';
import { served, type Asked } from './served.ts';

// The exact bytes on the wire. A visible change of ours or of the protocol packages fails here. Mend it, or record an intended
// change with `npm test -- test/contracts -u`.

const gateway = new GatewayUnderTest({ maxBodyBytes: 2_000, tools: { bank__anything: { scopes: ['anything'] } } });
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const AUTHORIZATION = { authorization: 'Bearer token-of-alice' };
const anAnswer = (asked: Asked) => served(gateway.mcpUrl, asked);
/** The answer to a request of the present revision. */
const to = (method: string, params: Record<string, unknown> = {}, options: SendOptions = {}) =>
  anAnswer(requestOf(method, params, options));
const task = (method: string, options: SendOptions = {}) => to(method, { taskId: TASK_ID }, options);
/** The answer to a request of an earlier revision. */
const toEarlier = (method: string, params: object, headers: Record<string, string> = {}) =>
  anAnswer({
    headers: { ...AUTHORIZATION, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'r-1', method, params }),
  });

describe('server', () => {
  it('capabilities', async () => expect(await to('server/discover')).toMatchSnapshot());
  it('tools', async () => expect(await to('tools/list')).toMatchSnapshot());

  it.each([REVISION, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '1999-01-01'])(
    'start of a session of %s',
    async (protocolVersion) => {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'wire-test', version: '0' } };
      expect(await toEarlier('initialize', params)).toMatchSnapshot();
    },
  );
});

describe('call', () => {
  const call = (options?: SendOptions) => to('tools/call', transfer(), options);

  it('result', async () => {
    world.invocation = {
      kind: 'result',
      isError: false,
      result: {
        content: [
          { type: 'text', text: 'booked', extra: 1 },
          { type: 'hologram', depth: 3 },
        ],
        structuredContent: { reference: 'PAY-1' },
        _meta: { 'com.example/kept': 1 },
        beyond: true,
      },
    };
    expect(await call()).toMatchSnapshot();
  });

  it.each([
    ['error of its upstream', { kind: 'error', code: -32_050, message: 'not today' }],
    ['error: it was not sent', { kind: 'not_sent', cause: 'canary' }],
    ['error: no answer came', { kind: 'no_answer', cause: 'canary' }],
  ] as const)('%s', async (_case, invocation) => {
    world.invocation = invocation;
    expect(await call()).toMatchSnapshot();
  });

  it('task', async () => {
    world.decision = requestable();
    expect(await call()).toMatchSnapshot();
  });

  it('answer to a client without tasks', async () => {
    world.decision = requestable();
    expect(await call({ capabilities: {} })).toMatchSnapshot();
  });

  it('final denial', async () => {
    world.decision = { kind: 'deny' };
    expect(await call()).toMatchSnapshot();
  });

  it('denial because of the limit', async () => {
    world.decision = requestable();
    world.opened = { kind: 'too_many' };
    expect(await call()).toMatchSnapshot();
  });

  it('unmet requirements', async () => {
    world.verdict = { unmet: ['env:test'], undecided: [] };
    expect(await call()).toMatchSnapshot();
  });

  it('unusable output schema', async () => {
    world.listed = [UNCHECKABLE];
    expect(await call()).toMatchSnapshot();
  });

  it('invalid arguments', async () => {
    expect(await to('tools/call', transfer({ arguments: { to: 'a' } }))).toMatchSnapshot();
  });

  it('unknown tool', async () => {
    expect(await to('tools/call', transfer({ name: 'bank__none' }))).toMatchSnapshot();
  });
});

describe('task', () => {
  const result = JSON.stringify({ content: [{ type: 'text', text: 'booked', extra: 1 }], structuredContent: { a: 1 } });
  const outcomeRef = 'out_1';

  it.each([
    ['that waits', {}],
    ['that was executed', { state: 'executed', result, outcomeRef }],
    ['whose tool failed', { state: 'execution_error', result, outcomeRef }],
    ['that was not sent', { state: 'execution_error', reason: 'not_sent', outcomeRef }],
    ['with an unknown outcome', { state: 'outcome_unknown', reason: 'no_result', outcomeRef }],
    ['that was denied', { state: 'denied', reason: 'resolution_denied', outcomeRef }],
    ['that has expired', { state: 'denied', reason: 'request_expired', outcomeRef }],
    ['that was cancelled', { state: 'cancelled', reason: 'client_cancelled', outcomeRef }],
    ['that failed', { state: 'failed', reason: 'submission_refused', outcomeRef }],
  ] as const)('%s', async (_case, changes) => {
    world.view = aView(changes);
    expect(await task('tasks/get')).toMatchSnapshot();
  });

  it.each(['tasks/update', 'tasks/cancel'])('acknowledgement of %s', async (method) => {
    expect(await task(method)).toMatchSnapshot();
  });

  it('subscription: acknowledged, updated, ended', async () => {
    world.view = aView({ state: 'executed', result, outcomeRef });
    const notifications = { taskIds: [TASK_ID, 'tsk_of_another_caller'] };
    expect(await to('subscriptions/listen', { notifications })).toMatchSnapshot();
  });
});

describe('error', () => {
  const BODY = requestOf('tools/list', {}, {});
  const other = (change: (body: string) => string, headers: Record<string, string> = {}) =>
    anAnswer({ headers: { ...BODY.headers, ...headers }, body: change(BODY.body) });

  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])('of %s: unknown task', async (method) => {
    expect(await to(method, { taskId: 'tsk_none' })).toMatchSnapshot();
  });

  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])('of %s: undeclared extension', async (method) => {
    expect(await task(method, { capabilities: {} })).toMatchSnapshot();
  });

  it('of a subscription to tasks: undeclared extension', async () => {
    const params = { notifications: { taskIds: [TASK_ID] } };
    expect(await to('subscriptions/listen', params, { capabilities: {} })).toMatchSnapshot();
  });

  it.each(['tasks/result', 'tasks/list', 'no/such'])('of an unknown method: %s', async (method) => {
    expect(await task(method)).toMatchSnapshot();
  });

  it.each([
    ['another revision', { 'mcp-protocol-version': '2025-11-25' }],
    ['another method', { 'mcp-method': 'tools/call' }],
    ['no method', { 'mcp-method': '' }],
  ])('of headers that name %s', async (_case, headers) => {
    expect(await other((body) => body, headers)).toMatchSnapshot();
  });

  it('of headers that name another task', async () => {
    expect(await task('tasks/get', { headers: { 'mcp-name': 'tsk_other' } })).toMatchSnapshot();
  });

  it('of an unknown revision', async () => {
    const unknown = { 'mcp-protocol-version': '2099-01-01' };
    expect(await other((body) => body.replace(REVISION, '2099-01-01'), unknown)).toMatchSnapshot();
  });

  it.each(['protocolVersion', 'clientCapabilities'])('of a request without its %s', async (key) => {
    expect(await other((body) => body.replace(`io.modelcontextprotocol/${key}`, 'other'))).toMatchSnapshot();
  });

  it.each([
    ['is cut off', (body: string) => body.slice(0, 20)],
    ['is not a request', () => '[]'],
    ['has a member twice', (body: string) => body.replace('{', '{"id":1,')],
    ['is too large', (body: string) => `${body}${' '.repeat(2_000)}`],
  ])('of a body that %s', async (_case, change) => expect(await other(change)).toMatchSnapshot());

  it('of a body that is not JSON', async () => {
    expect(await other((body) => body, { 'content-type': 'text/plain' })).toMatchSnapshot();
  });
});

describe('HTTP', () => {
  it.each(['GET', 'DELETE'])('unsupported method: %s', async (method) => {
    expect(await anAnswer({ method, headers: AUTHORIZATION })).toMatchSnapshot();
  });

  it.each([
    ['no token', {}],
    ['an invalid token', { authorization: 'Bearer nonsense' }],
  ])('challenge: %s', async (_case, headers) => expect(await anAnswer({ headers })).toMatchSnapshot());

  it('challenge: a token without the scope of the gateway', async () => {
    world.scopes = [];
    expect(await to('tools/list')).toMatchSnapshot();
  });

  it('challenge: a token without the scope of the tool', async () => {
    expect(await to('tools/call', { name: 'bank__anything', arguments: {} })).toMatchSnapshot();
  });

  it('another host, and another origin', async () => {
    expect(await anAnswer({ headers: { ...AUTHORIZATION, host: 'other.example' } })).toMatchSnapshot();
    expect(await anAnswer({ headers: { ...AUTHORIZATION, origin: 'https://other.example' } })).toMatchSnapshot();
  });

  it('protected resource metadata', async () => {
    const path = '/.well-known/oauth-protected-resource/mcp';
    expect(await anAnswer({ method: 'GET', path })).toMatchSnapshot();
  });

  it('accepted notification', async () => {
    const { id: _none, ...message } = JSON.parse(requestOf('notifications/cancelled', { requestId: 'r-0' }, {}).body);
    const headers = { ...AUTHORIZATION, 'mcp-protocol-version': REVISION, 'mcp-method': 'notifications/cancelled' };
    expect(await anAnswer({ headers, body: JSON.stringify(message) })).toMatchSnapshot();
  });
});

describe('earlier revision', () => {
  it('tools', async () => expect(await toEarlier('tools/list', {})).toMatchSnapshot());
  it('result of a call', async () => expect(await toEarlier('tools/call', transfer())).toMatchSnapshot());

  it('call that needs an approval', async () => {
    world.decision = requestable();
    expect(await toEarlier('tools/call', transfer())).toMatchSnapshot();
  });

  it('method of the present revision', async () => {
    expect(await toEarlier('tasks/get', { taskId: TASK_ID })).toMatchSnapshot();
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import {
  ALICE,
  aGateway,
  aView,
  FakeWorld,
  requestable,
  send,
  TASK_ID,
  transfer,
  type TestGateway,
} from '../../support/gateway.ts';

const AWAITING = {
  reason: 'insufficient_authorization',
  remediation: 'available',
  remediationHints: [{ type: 'task' }],
};
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
const AUTHORIZATION = 'io.modelcontextprotocol/authorization';

let gateway: TestGateway;
let world: FakeWorld;
beforeAll(async () => {
  gateway = await aGateway();
  world = gateway.world;
});
afterAll(() => gateway.stop());
beforeEach(() => {
  const { decision, opened, view, invocation } = new FakeWorld();
  Object.assign(world, { decision, opened, view, invocation, submission: undefined, failure: undefined });
  for (const log of [world.evaluations, world.openings, world.submitted, world.invocations, gateway.logged]) {
    log.length = 0;
  }
});

const call = (params = transfer(), options = {}) => send(gateway, 'tools/call', params, options);
const textOf = (result: Record<string, unknown> | undefined) =>
  (result?.['content'] as { text: string }[]).map(({ text }) => text).join('\n');
const metaOf = (result: Record<string, unknown> | undefined) => result?.['_meta'] as Record<string, unknown>;

describe('an allowed call', () => {
  it('is evaluated by the default mapping, forwarded, and answered with what the tool said', async () => {
    const odd = { content: [{ type: 'hologram', depth: 3 }], structuredContent: { a: 1 }, beyond: true };
    world.invocation = { kind: 'result', isError: false, result: odd };
    const { status, body } = await call();
    expect(status).toBe(200);
    expect(body.result).toEqual({ ...odd, resultType: 'complete', _meta: { [SERVER_INFO]: expect.anything() } });
    expect(world.evaluations).toEqual([
      {
        subject: { type: 'identity', id: 'alice' },
        action: { name: 'tools/call' },
        resource: { type: 'tool', id: 'bank__transfer', properties: { annotations: { destructiveHint: true } } },
        context: {
          agent: 'agent-7',
          arguments: { to: 'acct-1', amount: 5 },
          call_digest: expect.stringMatching(/^sha-256:[0-9a-f]{64}$/),
        },
      },
    ]);
    expect(world.invocations).toEqual([
      { upstream: 'bank', upstreamTool: 'transfer', arguments: { to: 'acct-1', amount: 5 } },
    ]);
    expect(world.openings).toEqual([]);
  });

  it("keeps the tool's own error, and loses metadata that only we may write", async () => {
    world.invocation = {
      kind: 'result',
      isError: true,
      result: {
        content: [],
        isError: true,
        _meta: { [AUTHORIZATION]: AWAITING, 'net.openid.authzen/disposition': 'x', 'com.example/kept': 1 },
      },
    };
    const { result } = (await call()).body;
    expect(result).toMatchObject({ isError: true, content: [] });
    expect(metaOf(result)).toEqual({ 'com.example/kept': 1, [SERVER_INFO]: expect.anything() });
  });

  it('hands on trace context and no other metadata', async () => {
    const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await call(transfer({ _meta: { traceparent: trace, 'com.example/user': 'root', progressToken: 1 } }));
    expect(world.invocations[0]?.meta).toEqual({ traceparent: trace });
  });

  it("is answered with the tool server's JSON-RPC error, unless its code would mean our transport", async () => {
    world.invocation = { kind: 'error', code: -32_602, message: 'no such account' };
    expect((await call()).body.error).toEqual({ code: -32_602, message: 'no such account' });
    world.invocation = { kind: 'error', code: -32_021, message: 'needs more' };
    const answer = await call();
    expect(answer).toMatchObject({ status: 200, body: { error: { code: -32_603, message: 'needs more' } } });
  });

  it('says that nothing ran when it was not sent, and that it may have when no answer came', async () => {
    world.invocation = { kind: 'not_sent', cause: 'canary-cause' };
    const notSent = await call();
    expect(notSent.body.result).toMatchObject({ isError: true });
    expect(textOf(notSent.body.result)).toMatch(/did not run/);
    world.invocation = { kind: 'no_answer', cause: 'canary-cause' };
    const lost = await call();
    expect(textOf(lost.body.result)).toMatch(/may have run/);
    expect(notSent.text + lost.text).not.toContain('canary');
  });
});

describe('a denied call', () => {
  it('is answered at once, and nothing is opened', async () => {
    world.decision = { kind: 'deny', reason: 'canary-reason' };
    const { status, text, body } = await call();
    expect(status).toBe(200);
    expect(Object.keys(body.result ?? {}).sort()).toEqual(['_meta', 'content', 'isError', 'resultType']);
    expect(body.result).toMatchObject({ resultType: 'complete', isError: true });
    expect(textOf(body.result)).toMatch(/did not run/);
    expect(metaOf(body.result)[AUTHORIZATION]).toEqual({
      reason: 'insufficient_authorization',
      remediation: 'unavailable',
    });
    expect(text).not.toContain('canary');
    expect([world.invocations, world.openings]).toEqual([[], []]);
  });

  it.each([
    ['the PDP wants it asked again without an approval', { kind: 'retry' } as const],
    [
      'the offer names a foreign submission address',
      requestable({ offer: { expiresAt: '2126-01-01T00:00:00Z', endpoint: 'https://evil.test/r' } }),
    ],
  ])('is a plain denial when %s', async (_case, decision) => {
    world.decision = decision;
    expect(metaOf((await call()).body.result)[AUTHORIZATION]).toMatchObject({ remediation: 'unavailable' });
    expect([world.invocations, world.openings]).toEqual([[], []]);
  });
});

describe('a call that needs an approval', () => {
  beforeEach(() => {
    world.decision = requestable();
  });

  it('becomes a task with exactly the members of one, after the request was submitted', async () => {
    const { status, body } = await call();
    expect(status).toBe(200);
    const { _meta, statusMessage, ...rest } = body.result ?? {};
    expect(rest).toEqual({
      resultType: 'task',
      taskId: TASK_ID,
      status: 'working',
      createdAt: '2026-11-21T09:00:00.000Z',
      lastUpdatedAt: '2026-11-21T09:00:01.000Z',
      ttlMs: 14 * 86_400_000,
      pollIntervalMs: 250,
    });
    expect(statusMessage).toMatch(/has not run/);
    expect(_meta).toEqual({
      [AUTHORIZATION]: AWAITING,
      'io.modelcontextprotocol/model-immediate-response': expect.stringMatching(/has not run/),
      [SERVER_INFO]: expect.anything(),
    });
    expect(world.submitted).toEqual([aView().gatedCallId]);
    expect(world.invocations).toEqual([]);
  });

  it('binds the call and repeats every member of the denial in the submission', async () => {
    await call();
    const [opening] = world.openings;
    expect(opening?.submissionEndpoint).toBe('http://127.0.0.1:4102/access/v1/requests');
    expect(opening?.binding).toMatchObject({
      tool: 'bank__transfer',
      upstream: 'bank',
      upstreamTool: 'transfer',
      arguments: '{"amount":5,"to":"acct-1"}',
      toolDigest: 'sha-256:1111',
      caller: ALICE,
      evaluation: world.evaluations[0],
    });
    const body = JSON.parse(opening?.submissionBody ?? '') as Record<string, unknown>;
    expect(body).toEqual({
      ...world.evaluations[0],
      client: {
        id: 'mcp-gateway',
        name: 'Countersign gateway',
        actor: { id: 'agent-7', issuer: 'https://issuer.test', type: 'ai_agent' },
        source: { generation: 1 },
      },
      callback: { endpoint: `${gateway.url}/callbacks/access-requests`, state: expect.any(String) },
      denial: {
        evaluation_id: 'canary-evaluation-id',
        evaluated_at: '2026-11-21T09:00:00Z',
        reason: 'canary-reason',
        template: 'canary-template',
        expires_at: '2126-11-21T09:10:00Z',
        binding_token: 'canary-binding-token',
      },
    });
  });

  it.each([
    ['nothing', {}],
    ['other extensions only', { extensions: { 'io.modelcontextprotocol/tool-approval': {} } }],
    ['the tasks of an earlier revision', { tasks: { requests: {} } }],
  ])('is not opened for a request that declares %s', async (_case, capabilities) => {
    const { body } = await call(transfer(), { capabilities });
    expect(body.result).toMatchObject({ resultType: 'complete', isError: true });
    expect(textOf(body.result)).toMatch(/did not run.*io\.modelcontextprotocol\/tasks/s);
    expect(textOf(body.result)).not.toMatch(/request_access|get_request_status/);
    expect(metaOf(body.result)[AUTHORIZATION]).toEqual({
      reason: 'insufficient_authorization',
      remediation: 'undisclosed',
    });
    expect([world.openings, world.submitted]).toEqual([[], []]);
  });

  it('is refused without an invitation when too many are open', async () => {
    world.opened = { kind: 'too_many' };
    const { result } = (await call()).body;
    expect(metaOf(result)[AUTHORIZATION]).toEqual({ reason: 'insufficient_authorization', remediation: 'undisclosed' });
    expect(textOf(result)).toMatch(/did not run.*do not repeat/is);
    expect(world.submitted).toEqual([]);
  });

  it('is decided on once more when the identical call ended meanwhile', async () => {
    world.opened = { kind: 'gone' };
    const decisions = [requestable(), { kind: 'deny' } as const];
    world.decision = async () => decisions.shift() ?? requestable();
    expect(metaOf((await call()).body.result)[AUTHORIZATION]).toMatchObject({ remediation: 'unavailable' });
    expect(world.evaluations).toHaveLength(2);
  });

  it('gives up when identical calls keep ending', async () => {
    world.opened = { kind: 'gone' };
    expect((await call()).body.error).toMatchObject({ code: -32_603 });
    expect(world.evaluations).toHaveLength(2);
  });

  it('is a denial when the access request service refuses it, and an error when it is away', async () => {
    world.submission = new CountersignError('ERR_NOT_REQUESTABLE', 'canary');
    expect(metaOf((await call()).body.result)[AUTHORIZATION]).toMatchObject({ remediation: 'unavailable' });
    world.submission = new CountersignError('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE', 'canary http://approvals');
    const { body, text } = await call();
    expect(body.error?.code).toBe(-32_603);
    expect(body.error?.message).toMatch(/did not run/);
    expect(text).not.toContain('canary');
  });
});

describe('a call that cannot be decided', () => {
  it('ends in an error, and nothing runs', async () => {
    world.decision = new CountersignError('ERR_PDP_UNAVAILABLE', 'canary http://pdp');
    const { status, body, text } = await call();
    expect(status).toBe(200);
    expect(body.error?.code).toBe(-32_603);
    expect(body.error?.message).toMatch(/did not run/);
    expect(text).not.toContain('canary');
    expect([world.invocations, world.openings]).toEqual([[], []]);
  });

  it('ends in a general error when something unexpected happens, which is logged', async () => {
    world.decision = () => Promise.reject(new Error('canary secret'));
    const { body, text } = await call();
    expect(body.error).toEqual({ code: -32_603, message: 'Internal error' });
    expect(text).not.toContain('canary');
    expect(gateway.logged.join('')).toContain('canary secret');
  });
});

describe('a call that is not right', () => {
  it('names an unknown tool', async () => {
    for (const name of ['bank__none', 'transfer', '__proto__', '']) {
      expect((await call(transfer({ name }))).body.error).toMatchObject({ code: -32_602 });
    }
    expect(world.evaluations).toEqual([]);
  });

  it.each([
    ['lacks a member', { to: 'x' }, /amount/],
    ['has a wrong type', { to: 'x', amount: '5' }, /amount must be integer/],
    ['has a member too many', { to: 'x', amount: 1, extra: 1 }, /additional properties \(extra\)/],
    ['has a half of a character', { to: '\ud800', amount: 1 }, /no canonical JSON form/],
  ])('%s: nothing is evaluated and nothing runs', async (_case, args, problem) => {
    const { body } = await call(transfer({ arguments: args }));
    expect(body.result).toMatchObject({ resultType: 'complete', isError: true });
    expect(textOf(body.result)).toMatch(/did not run/);
    expect(textOf(body.result)).toMatch(problem);
    expect(metaOf(body.result)[AUTHORIZATION]).toBeUndefined();
    expect([world.evaluations, world.invocations, world.openings]).toEqual([[], [], []]);
  });

  it('has arguments that are no object, or no name', async () => {
    for (const params of [transfer({ arguments: [] }), transfer({ arguments: 'x' }), { arguments: {} }]) {
      expect((await call(params as never)).body.error?.code).toBe(-32_602);
    }
    expect(world.evaluations).toEqual([]);
  });

  it('nests its arguments deeper than anything can follow', async () => {
    const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    const answer = await call({ name: 'bank__anything', arguments: '@@' } as never, {});
    expect(answer.body.error?.code).toBe(-32_602);
    const frame = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'bank__anything',
        arguments: '@@',
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 't', version: '0' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }).replace('"@@"', deep);
    const response = await fetch(gateway.mcpUrl, {
      method: 'POST',
      headers: {
        authorization: 'Bearer token-of-alice',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'bank__anything',
      },
      body: frame,
    });
    expect(await response.text()).not.toMatch(/ at .*\.[cm]?[jt]s/);
    expect(world.invocations).toEqual([]);
    expect((await call()).status).toBe(200);
  });
});

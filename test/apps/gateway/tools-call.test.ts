import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { ALICE } from '../../support/gateway-world.ts';
import { AUTHORIZATION, AWAITING, SERVER_INFO, metaOf, textOf, send, transfer } from '../../support/gateway-wire.ts';
import { TASKS } from '../../support/input-calls.ts';

const gateway = new GatewayUnderTest();
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const call = (params = transfer(), options = {}) => send(gateway, 'tools/call', params, options);

describe('an allowed call', () => {
  it("is evaluated by the default mapping, forwarded, and answered with the tool's result [STATELESS-009, COAZ-DF-02, COAZ-DF-05]", async () => {
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
          call: { tool: 'bank__transfer', server: 'bank', tool_digest: 'sha-256:1111', roles: ['teller'] },
          call_digest: expect.stringMatching(/^sha-256:[0-9a-f]{64}$/),
        },
      },
    ]);
    expect(world.invocations).toEqual([
      {
        upstream: 'bank',
        upstreamTool: 'transfer',
        toolDigest: 'sha-256:1111',
        arguments: { to: 'acct-1', amount: 5 },
        caller: ALICE,
        conversation: { capabilities: TASKS },
      },
    ]);
    expect(world.openings).toEqual([]);
  });

  it("keeps the tool's own error, and drops metadata that only we may write", async () => {
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

  it('passes trace context on unchanged, and no other metadata [OTEL-002, OTEL-004]', async () => {
    const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const context = { traceparent: trace, baggage: 'a=1' };
    await call(transfer({ _meta: { ...context, 'com.example/user': 'root', progressToken: 1 } }));
    expect(world.invocations[0]?.meta).toEqual(context);
    await call(transfer());
    expect(world.invocations[1]).not.toHaveProperty('meta');
  });

  it.each<[code: number, data: Json | undefined]>([
    [-32_602, undefined],
    [-32_602, { uri: 'x://1', nested: { _meta: 1 } }],
    [-32_603, 'in words'],
    [7, null],
    [-31_000, ['a', 1]],
  ])("is answered with the tool server's JSON-RPC error unchanged: %d with %j", async (code, data) => {
    const error = { code, message: 'no such account', ...(data !== undefined && { data }) };
    world.invocation = { kind: 'error', ...error };
    expect((await call()).body.error).toEqual(error);
  });

  it.each<[code: number, data: JsonObject]>([
    [-32_021, { requiredCapabilities: { experimental: {} } }],
    [-32_020, { mismatch: {} }],
    [-31_001, {}],
    [429, { after: 1 }],
    [-32_602, { reason: 'invalid_request_state' }],
  ])(
    "is answered with a neutral error code when the tool's would have a meaning of ours: %d with %j",
    async (code, data) => {
      world.invocation = { kind: 'error', code, message: 'needs more', data };
      const { status, body } = await call();
      expect([status, body.error]).toEqual([200, { code: -32_603, message: 'needs more' }]);
    },
  );

  it("is answered with the tool's error without members that only we may write", async () => {
    const forged = { [AUTHORIZATION]: AWAITING, 'dev.countersign/next-step': 1 };
    const data = { ...forged, kept: 1, _meta: { ...forged, 'com.example/kept': 2 } };
    world.invocation = { kind: 'error', code: 1, message: 'no', data };
    expect((await call()).body.error?.data).toEqual({ kept: 1, _meta: { 'com.example/kept': 2 } });
  });

  it('says that the tool did not run when it was not sent, and that it may have run without an answer', async () => {
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
  it('is answered at once, and no request is opened [DENIAL-018, AZ-IM-10, COAZ-ER-05]', async () => {
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

  it.each([['the PDP asks to retry without an approval', { kind: 'retry' } as const]])(
    'is a plain denial when %s',
    async (_case, decision) => {
      world.decision = decision;
      expect(metaOf((await call()).body.result)[AUTHORIZATION]).toMatchObject({ remediation: 'unavailable' });
      expect([world.invocations, world.openings]).toEqual([[], []]);
    },
  );

  it('says when a policy may only be missing, for our own reason code only', async () => {
    const toldFor = async (reason?: string) => {
      world.decision = { kind: 'deny', ...(reason !== undefined && { reason }) };
      const { result } = (await call()).body;
      expect(metaOf(result)[AUTHORIZATION]).toMatchObject({ remediation: 'unavailable' });
      return textOf(result);
    };
    const refused = await toldFor();
    expect(refused).toMatch(/Policy does not allow this call, and no approval can change that/);
    expect(await toldFor('not_permitted')).toMatch(/No rule permits this call.*for the operator.*countersign lint/);
    for (const reason of ['policy_denied', 'moving_files_is_not_allowed', 'not_permitted ', ''])
      expect(await toldFor(reason)).toBe(refused);
  });
});

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { GATED_CALL_STATES, isTerminal } from '../../../workflows/domain/gated-call/gated-call.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { ALICE, aView, REQUEST_REF, requestable, TASK_ID } from '../../support/gateway-world.ts';
import { metaOf, post, send, textOf, transfer } from '../../support/gateway-wire.ts';
import { waitFor } from '../../support/wait-for.ts';

const NAMES = ['request_access', 'get_request_status'];
const NEXT_STEP = 'dev.countersign/next-step';

const gateway = new GatewayUnderTest({ waitSeconds: 0, tools: { bank__transfer: { scopes: ['bank'] } } });
const withoutTools = new GatewayUnderTest({ requestTools: false, requestByItself: false });
const { world } = gateway;
beforeAll(() => Promise.all([gateway.start(), withoutTools.start()]));
afterAll(() => Promise.all([gateway.stop(), withoutTools.stop()]));
beforeEach(() => {
  gateway.reset();
  world.scopes = ['mcp', 'bank'];
});

const CALL = { tool: 'bank__transfer', arguments: transfer().arguments };
/** From a client without tasks. */
const call = (name: string, args: unknown, options = {}) =>
  send(gateway, 'tools/call', { name, arguments: args }, { capabilities: {}, ...options });
const requestAccess = (args: unknown = CALL, options = {}) => call('request_access', args, options);
const requestStatus = (reference: unknown = REQUEST_REF, options = {}) =>
  call('get_request_status', { reference }, options);
const listedBy = async (at: GatewayUnderTest, capabilities?: object) => {
  const { result } = (await send(at, 'tools/list', {}, { ...(capabilities && { capabilities }) })).body;
  return (result?.['tools'] as { name: string; inputSchema: object }[]).map((tool) => tool.name);
};

describe('request_access', () => {
  beforeEach(() => void (world.decision = requestable()));

  it('opens the same access request as the call itself, and returns its reference', async () => {
    const { result } = (await requestAccess()).body;
    await send(gateway, 'tools/call', transfer());
    const [asked, called] = world.openings;
    expect(asked?.binding).toEqual(called?.binding);
    expect(world.evaluations[0]).toEqual(world.evaluations[1]);
    expect(world.submitted).toHaveLength(2);
    expect(result?.['isError']).toBeUndefined();
    expect(textOf(result)).toMatch(new RegExp(`has not run.*get_request_status.*${REQUEST_REF}`));
    expect(metaOf(result)[NEXT_STEP]).toEqual({
      kind: 'get_request_status',
      tool: 'get_request_status',
      arguments: { reference: REQUEST_REF },
      expiresAt: aView().retainUntil,
      pollIntervalMs: 60_000,
    });
    expect(JSON.stringify(result)).not.toMatch(/tsk_|canary/);
  });

  it('also says everything in the structured result, which some hosts show alone [ARAP-SEC-06]', async () => {
    world.view = aView({ decideBy: '2026-11-28T09:00:00.000Z', approvalPage: 'https://approvals.test/requests/1' });
    for (const answer of [await requestAccess(), await requestStatus()]) {
      const { result } = answer.body;
      expect(result?.['structuredContent']).toEqual({
        'dev.countersign/request': {
          ...{ reference: REQUEST_REF, status: 'working', statusMessage: textOf(result) },
          ...{ expiresAt: aView().retainUntil, decideBy: '2026-11-28T09:00:00.000Z' },
          approvalPage: 'https://approvals.test/requests/1',
        },
      });
      expect(textOf(result)).toContain('on the page https://approvals.test/requests/1.');
      expect(metaOf(result)[NEXT_STEP]).toMatchObject({ approvalPage: 'https://approvals.test/requests/1' });
    }
  });

  it('answers a client with tasks alike, without a task', async () => {
    const { result } = (await requestAccess(CALL, { capabilities: undefined })).body;
    expect(result).toMatchObject({ resultType: 'complete' });
    expect(textOf(result)).toContain(REQUEST_REF);
  });

  it('does not make an allowed call', async () => {
    world.decision = { kind: 'allow' };
    const { result } = (await requestAccess()).body;
    expect(textOf(result)).toMatch(/did not run.*needs no approval/);
    expect([world.invocations, world.openings]).toEqual([[], []]);
  });

  it.each([
    ['policy refuses', () => (world.decision = { kind: 'deny' }), /Policy does not allow/],
    ['lacks a requirement', () => (world.verdict = { unmet: ['env:test'], undecided: [] }), /Unmet requirement/],
    ['exceeds the limit', () => (world.opened = { kind: 'too_many' }), /do not repeat/],
  ])('is refused for a call that %s', async (_case, arrange, text) => {
    arrange();
    const { result } = (await requestAccess()).body;
    expect(result?.['isError']).toBe(true);
    expect(textOf(result)).toMatch(text);
    expect([world.submitted, world.invocations]).toEqual([[], []]);
  });

  it('is refused for invalid arguments of the tool', async () => {
    const { result } = (await requestAccess({ ...CALL, arguments: { to: 'x' } })).body;
    expect(result?.['isError']).toBe(true);
    expect(textOf(result)).toMatch(/did not run.*amount/);
    expect([world.evaluations, world.openings]).toEqual([[], []]);
  });

  it.each([
    [{}],
    [{ tool: 5 }],
    [{ tool: '' }],
    [{ ...CALL, arguments: [] }],
    [{ ...CALL, more: 1 }],
    [{ tool: 'none' }],
    [{ tool: '__proto__' }],
    [{ tool: 'request_access', arguments: CALL }],
  ])('refuses %j', async (args) => {
    const { result } = (await requestAccess(args)).body;
    expect(result?.['isError']).toBe(true);
    expect(textOf(result)).toMatch(/arguments are not valid/);
    expect(world.evaluations).toEqual([]);
  });

  it('needs the scopes of the requested tool, also in a batch', async () => {
    world.scopes = ['mcp'];
    const answer = await requestAccess();
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([403, expect.stringContaining('mcp bank')]);
    const params = { name: 'request_access', arguments: CALL };
    const batch = JSON.stringify([{ jsonrpc: '2.0', id: 1, method: 'tools/call', params }]);
    expect((await post(gateway, batch, { authorization: 'Bearer token-of-alice' })).status).toBe(403);
    expect(world.evaluations).toEqual([]);
  });
});

describe('get_request_status', () => {
  it.each(GATED_CALL_STATES.filter((state) => !isTerminal(state)))('describes a call that is %s', async (state) => {
    world.view = aView({ state });
    const { result } = (await requestStatus()).body;
    expect(result?.['isError']).toBeUndefined();
    expect(/has not run/.test(textOf(result))).toBe(state !== 'claimed');
    expect(/a person has to approve/.test(textOf(result))).toBe(['preparing', 'pending'].includes(state));
    expect(textOf(result)).not.toMatch(/at most/);
    const next = state === 'input_required' ? { kind: 'answer_task' } : { arguments: { reference: REQUEST_REF } };
    expect(metaOf(result)[NEXT_STEP]).toMatchObject(next);
  });

  it.each(['executed', 'execution_error', 'outcome_unknown', 'denied'] as const)(
    'returns the result of the task that has ended as %s',
    async (state) => {
      const result = JSON.stringify({
        content: [{ type: 'text', text: 'booked', extra: 1 }],
        structuredContent: { a: 1 },
      });
      world.view = aView({ state, outcomeRef: 'out_1', ...(state.startsWith('exec') && { result }) });
      const task = (await send(gateway, 'tasks/get', { taskId: TASK_ID })).body.result;
      const { _meta: inside, ...rest } = task?.['result'] as Record<string, unknown>;
      const { _meta, structuredContent, ...status } = (await requestStatus()).body.result ?? {};
      const { structuredContent: structured, ...others } = rest;
      expect(status).toEqual(others);
      expect(structuredContent).toEqual(structured && { ...structured, 'dev.countersign/request': expect.anything() });
      expect(_meta).toMatchObject({ ...(inside as object), 'dev.countersign/outcome-ref': 'out_1' });
      expect(world.lookups[1]).toEqual(world.lookups[0]);
    },
  );

  it.each([
    ['executed', 'The tool ran once, after approval.'],
    ['execution_error', expect.stringMatching(/^The tool ran once, after approval, and its result is an error/)],
  ] as const)('also says in the structured result that a call has ended as %s', async (state, statusMessage) => {
    const answered = async (structuredContent?: unknown) => {
      const result = { content: [{ type: 'text', text: 'booked' }], structuredContent };
      world.view = aView({ state, result: JSON.stringify(result) });
      return (await requestStatus()).body.result?.['structuredContent'];
    };
    const request = { reference: REQUEST_REF, status: 'completed', statusMessage };
    expect(await answered({ a: 1 })).toEqual({ a: 1, 'dev.countersign/request': request });
    // A result that is not an object stays unchanged, and without one a host shows the text.
    expect([await answered([1]), await answered()]).toEqual([[1], undefined]);
  });

  it.each([
    ['cancelled', /Cancelled.*did not run/],
    ['failed', /approval service.*did not run/],
  ] as const)('describes a call that was %s', async (state, text) => {
    world.view = aView({ state });
    const { result } = (await requestStatus()).body;
    expect(result?.['isError']).toBe(true);
    expect(textOf(result)).toMatch(text);
  });

  it("answers unknown, purged and other callers' references, and task ids, with the same bytes [SESSION-004]", async () => {
    const unknown = await requestStatus('req_unknown');
    const foreign = await requestStatus(REQUEST_REF, { token: 'token-of-mallory' });
    const taskId = await requestStatus(TASK_ID);
    world.view = undefined;
    const purged = await requestStatus();
    expect(textOf(unknown.body.result)).toMatch(/no such request/);
    expect([foreign.text, taskId.text, purged.text]).toEqual([unknown.text, unknown.text, unknown.text]);
    expect(new Set(world.lookups.map(({ owner }) => owner)).size).toBe(2);
  });

  it.each([[5], [''], ['x'.repeat(300)], [{}]])('refuses %p as a reference', async (reference) => {
    const { result } = (await call('get_request_status', { reference })).body;
    expect([result?.['isError'], textOf(result)]).toEqual([true, expect.stringMatching(/arguments are not valid/)]);
    expect(world.lookups).toEqual([]);
  });

  it('does not say whether the tool ran when it cannot know', async () => {
    world.failure = new CountersignError('ERR_DATABASE_UNAVAILABLE', 'canary');
    const { body, text } = await requestStatus();
    expect(body.error).toMatchObject({ code: -32_603, message: expect.stringMatching(/may be repeated later/) });
    expect(text).not.toMatch(/canary|\brun\b/);
  });

  it('asks no policy, and runs no tool', async () => {
    await requestStatus();
    expect([world.evaluations, world.invocations, world.openings]).toEqual([[], [], []]);
    expect(world.lookups).toEqual([{ taskId: TASK_ID, owner: expect.stringContaining(ALICE.subject) }]);
  });
});

describe('the tools request_access and get_request_status', () => {
  it('are listed after all others, for any declared capabilities [SESSION-002]', async () => {
    const others = ['bank__transfer', 'bank__anything'];
    for (const capabilities of [undefined, {}])
      expect(await listedBy(gateway, capabilities)).toEqual([...others, ...NAMES]);
  });

  it('can be switched off, and then no answer names them', async () => {
    expect(await listedBy(withoutTools)).not.toEqual(expect.arrayContaining([NAMES[0]]));
    for (const name of NAMES) {
      const { body } = await send(withoutTools, 'tools/call', { name, arguments: CALL });
      expect(body.error).toMatchObject({ code: -32_602 });
    }
    withoutTools.world.decision = requestable();
    const { result } = (await send(withoutTools, 'tools/call', transfer(), { capabilities: {} })).body;
    expect(JSON.stringify(result)).not.toMatch(/request_access|get_request_status/);
    expect(metaOf(result)[NEXT_STEP]).toMatchObject({ kind: 'declare_extension' });
  });
});

describe('polls of requests', () => {
  const slow = new GatewayUnderTest({ waitSeconds: 0, maxPollsPerSecond: 5 });
  beforeAll(() => slow.start());
  afterAll(() => slow.stop());
  afterEach(() => slow.reset());
  const params = { name: 'get_request_status', arguments: { reference: REQUEST_REF } };

  it('are limited like polls of tasks, also in a batch [TASK-023]', async () => {
    // On a slow machine, many seconds may pass between the first and the last.
    const refused = await waitFor(async () => {
      slow.reset();
      const answers = await Promise.all(Array.from({ length: 100 }, () => send(slow, 'tools/call', params)));
      const found = answers.filter(({ status }) => status === 429);
      return found.length > 0 ? found : undefined;
    });
    expect(slow.world.lookups).toHaveLength(100 - refused.length);
    const batch = Array.from({ length: 50 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'tools/call', params }));
    const twice = () => post(slow, JSON.stringify(batch), { authorization: 'Bearer token-of-alice' });
    // Between two of them a second may pass.
    await waitFor(async () => (await Promise.all([twice(), twice()])).some(({ status }) => status === 429));
  });
});

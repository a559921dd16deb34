import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { declaredTo } from '../../support/conversing-upstream.ts';
import { AUTHORIZATION, SERVER_INFO, textOf } from '../../support/gateway-wire.ts';
import { accepted, questionIn } from '../../support/input-calls.ts';
import { asking, startRelayingGateway } from '../../support/relaying-gateway.ts';

const NAMED = accepted({ name: 'Ada' });
const NAME_FORM = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'What is your name?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
};

let gateway: Awaited<ReturnType<typeof startRelayingGateway>>;
let { ask, call, real, upstream } = {} as typeof gateway;
beforeAll(async () => {
  gateway = await startRelayingGateway('up__test_input_required_result_sampling');
  ({ ask, call, real, upstream } = gateway);
});
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const forged = (result: object) =>
  (upstream.forge = ({ method }) => (method === 'tools/call' ? { result } : undefined));

describe('a question of an upstream', () => {
  it.each([
    ['a tool', 'tools/call', asking('elicitation'), { key: 'user_name', response: NAMED, said: 'Hello, Ada!' }],
    [
      'a prompt',
      'prompts/get',
      { name: 'up__test_input_required_result_prompt' },
      { key: 'user_context', response: accepted({ context: 'tests' }), said: 'In the context of tests.' },
    ],
  ])(
    'for %s is passed on member for member, and so is the answer [MRTR-003]',
    async (_c, method, params, { key, response, said }) => {
      const asked = await ask(method, params);
      expect(asked.status).toBe(200);
      const { requestState } = questionIn(asked);
      expect(asked.body.result).toEqual({
        resultType: 'input_required',
        inputRequests: { [key]: { ...NAME_FORM, params: expect.objectContaining({ mode: 'form' }) } },
        requestState: expect.any(String),
        _meta: { [SERVER_INFO]: expect.objectContaining({ name: 'countersign' }) },
      });
      const answered = await ask(method, { ...params, inputResponses: { [key]: response }, requestState });
      expect(answered.body.result).toMatchObject({ resultType: 'complete' });
      expect(answered.text).toContain(said);
      const [second, first] = upstream.of(method);
      expect(second?.params['inputResponses']).toEqual({ [key]: response });
      // The upstream sent no state, and gets none back.
      expect([first?.params, second?.params].map((of) => of && 'requestState' in of)).toEqual([false, false]);
    },
  );

  it('keeps its own state: the client gets ours, and the upstream its own', async () => {
    const params = asking('request_state');
    const question = questionIn(await call(params));
    const again = {
      ...params,
      inputResponses: { confirm: accepted({ ok: true }) },
      requestState: question.requestState,
    };
    expect(textOf((await call(again)).body.result)).toBe('state-ok');
    const theirs = upstream.of('tools/call')[0]?.params['requestState'];
    expect(theirs).toEqual(expect.any(String));
    expect(question.requestState).not.toContain(String(theirs).slice(0, 16));
  });

  it('may come in several rounds, each with a new decision', async () => {
    const params = asking('multi_round');
    const one = questionIn(await call(params));
    const two = questionIn(
      await call({ ...params, inputResponses: { [one.key]: NAMED }, requestState: one.requestState }),
    );
    expect([one.key, two.key]).toEqual(['step1', 'step2']);
    const answer = { [two.key]: accepted({ color: 'red' }) };
    const end = await call({ ...params, inputResponses: answer, requestState: two.requestState });
    expect(textOf(end.body.result)).toBe('Both rounds are over.');
    expect(real.authority.seen.filter(({ path }) => path === '/access/v1/evaluation')).toHaveLength(3);
  });

  it('reaches only clients that declared it, in their modes, and the upstream knows their capabilities [MRTR-005]', async () => {
    const { body } = await call(asking('capabilities'), { capabilities: { sampling: {} } });
    expect(Object.keys(body.result?.['inputRequests'] as object)).toEqual(['greeting']);
    expect(declaredTo(upstream.of('tools/call')[0])).toEqual({ sampling: {} });
    await call(asking('capabilities'), {
      capabilities: { elicitation: {}, sampling: { tools: {}, context: {} }, roots: {}, experimental: { canary: {} } },
    });
    expect(declaredTo(upstream.of('tools/call')[0])).toEqual({
      elicitation: {},
      sampling: { tools: {}, context: {} },
      roots: {},
    });
  });

  it.each<[string, object, object, object]>([
    [
      'a form',
      { elicitation: { url: {} } },
      { method: 'elicitation/create', params: {} },
      { elicitation: { form: {} } },
    ],
    [
      'an address',
      { elicitation: {} },
      { method: 'elicitation/create', params: { mode: 'url', url: 'https://up.test' } },
      { elicitation: { url: {} } },
    ],
    ['a model', { elicitation: {} }, { method: 'sampling/createMessage', params: {} }, { sampling: {} }],
    [
      'a model with tools',
      { sampling: {} },
      { method: 'sampling/createMessage', params: { tools: [] } },
      { sampling: { tools: {} } },
    ],
    ['roots', { sampling: {} }, { method: 'roots/list' }, { roots: {} }],
  ])(
    'is refused when the upstream asks for %s, and the client did not declare it [MRTR-005]',
    async (_c, capabilities, request, requiredCapabilities) => {
      forged({ resultType: 'input_required', inputRequests: { q: request } });
      const { status, body } = await call(asking('elicitation'), { capabilities });
      expect(status).toBe(400);
      expect(body.error).toMatchObject({ code: -32_021, data: { requiredCapabilities } });
    },
  );

  it("that the upstream cannot ask because of missing capabilities is reported in the upstream's words", async () => {
    const missing = { name: 'up__test_missing_capability', arguments: {} };
    const { status, body } = await call(missing, { capabilities: { elicitation: {} } });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: -32_021, data: { requiredCapabilities: { sampling: {} } } });
    expect(textOf((await call(missing)).body.result)).toBe('The client can sample.');
  });

  it.each<[string, object]>([
    ['a capability that the client declared', { sampling: {} }],
    ['a capability between the client and the gateway', { experimental: { x: {} } }],
  ])('that demands %s causes a general error', async (_c, requiredCapabilities) => {
    upstream.forge = ({ method }) =>
      method === 'tools/call'
        ? { error: { code: -32_021, message: 'more', data: { requiredCapabilities } } }
        : undefined;
    const { status, body } = await call(asking('elicitation'));
    expect([status, body.error?.code]).toEqual([200, -32_603]);
  });

  it.each<[string, object]>([
    ['nothing', { inputRequests: {} }],
    ['of another kind', { inputRequests: { q: { method: 'tools/call', params: {} } } }],
    ['without a method', { inputRequests: { q: {} } }],
    ['not a request', { inputRequests: { q: 'canary' } }],
    ['with a state that is too long', { requestState: 'x'.repeat(16_385) }],
  ])('that is %s is not passed on', async (_c, members) => {
    forged({ resultType: 'input_required', ...members });
    const { body } = await call(asking('elicitation'));
    expect(body.error).toMatchObject({ code: -32_603, message: expect.stringContaining('not a result') });
  });

  it('may only ask to repeat the call, and cannot forge our own members', async () => {
    forged({
      resultType: 'input_required',
      requestState: 'theirs',
      ttlMs: 5,
      _meta: {
        [AUTHORIZATION]: { reason: 'forged' },
        'io.modelcontextprotocol/tool-approval-disposition': 'x',
        own: 1,
      },
    });
    const { body } = await call(asking('elicitation'));
    expect(body.result).toEqual({
      resultType: 'input_required',
      requestState: expect.any(String),
      _meta: { own: 1, [SERVER_INFO]: expect.anything() },
    });
    upstream.forge = () => undefined;
    await call({ ...asking('elicitation'), requestState: body.result?.['requestState'] });
    expect(upstream.of('tools/call')[0]?.params['requestState']).toBe('theirs');
  });

  it('is not passed on where results are withheld', async () => {
    const sensitive = asking('sampling');
    const { body } = await call(sensitive);
    expect(declaredTo(upstream.of('tools/call')[0])).toEqual({});
    expect(body.error?.message).toMatch(/withheld/);
    forged({ resultType: 'input_required', inputRequests: { canary: NAME_FORM } });
    const asked = await call(sensitive);
    expect(asked.body.error?.message).toMatch(/withheld/);
    expect(asked.text).not.toContain('canary');
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AUTHORIZATION, metaOf, textOf, type SendOptions } from '../../support/gateway-wire.ts';
import { accepted, questionIn, schemaOf, TASKS } from '../../support/input-calls.ts';
import { REQUESTABLE } from '../../support/real-gateway.ts';
import { asking, EVERYTHING, startRelayingGateway } from '../../support/relaying-gateway.ts';

const INVALID_STATE = {
  code: -32_602,
  message: 'Invalid or expired requestState',
  data: { reason: 'invalid_request_state' },
};
const NAMED = accepted({ name: 'Ada' });

let gateway: Awaited<ReturnType<typeof startRelayingGateway>>;
let { ask, call, real, upstream } = {} as typeof gateway;
beforeAll(async () => {
  gateway = await startRelayingGateway();
  ({ ask, call, real, upstream } = gateway);
});
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

describe('a state of a relayed round', () => {
  const refused = async (params: Record<string, unknown>, options?: SendOptions, method = 'tools/call') => {
    const before = upstream.of(method).length;
    const { status, body } = await ask(method, params, options);
    expect([status, body.error]).toEqual([200, INVALID_STATE]);
    expect(upstream.of(method)).toHaveLength(before);
  };
  const question = async () => {
    const { requestState } = questionIn(await call(asking('request_state')));
    return { inputResponses: { confirm: accepted({ ok: true }) }, requestState };
  };

  it('is valid only for this call of this caller, and only unaltered [MRTR-006, MRTR-007, MRTR-009]', async () => {
    const answer = await question();
    await refused({ ...asking('tampered_state'), ...answer });
    await refused({ ...asking('request_state'), arguments: { more: 1 }, ...answer });
    for (const claims of [{ sub: 'mallory' }, { client_id: 'agent-8' }]) {
      const token = await real.authority.token({ aud: real.mcpUrl, ...claims });
      await refused({ ...asking('request_state'), ...answer }, { token });
    }
    for (const requestState of ['', 'x', `${answer.requestState}x`, answer.requestState.slice(0, -2)]) {
      await refused({ ...asking('request_state'), ...answer, requestState });
    }
    const prompt = { name: 'up__test_input_required_result_prompt' };
    await refused({ ...prompt, ...answer }, {}, 'prompts/get');
    expect(textOf((await call({ ...asking('request_state'), ...answer })).body.result)).toBe('state-ok');
  });

  it('expires [MRTR-008]', async () => {
    const answer = await question();
    real.clock.aheadMs = 601_000;
    try {
      await refused({ ...asking('request_state'), ...answer });
    } finally {
      real.clock.aheadMs = 0;
    }
    expect(textOf((await call({ ...asking('request_state'), ...answer })).body.result)).toBe('state-ok');
  });

  it('of a call that is now denied, or needs an approval, passes no answers on', async () => {
    const answer = await question();
    upstream.received.length = 0;
    real.authority.decide = () => ({ decision: false });
    const denied = await call({ ...asking('request_state'), ...answer }, { capabilities: { ...EVERYTHING, ...TASKS } });
    expect(textOf(denied.body.result)).toMatch(/Policy does not allow/);
    real.authority.decide = () => REQUESTABLE;
    const held = await call({ ...asking('request_state'), ...answer }, { capabilities: { ...EVERYTHING, ...TASKS } });
    expect(held.body.result).toMatchObject({ isError: true, resultType: 'complete' });
    expect(textOf(held.body.result)).toMatch(/requires an approval.*Next step: repeat the call from the start/);
    expect(metaOf(held.body.result)[AUTHORIZATION]).toMatchObject({ remediation: 'undisclosed' });
    expect([upstream.of('tools/call'), real.authority.submissions()]).toEqual([[], []]);
    const anew = await call(asking('request_state'), { capabilities: { ...EVERYTHING, ...TASKS } });
    expect(anew.body.result).toMatchObject({ resultType: 'task' });
  });

  it('of a prompt that is now denied passes no answers on', async () => {
    const prompt = { name: 'up__test_input_required_result_prompt' };
    const { requestState } = questionIn(await ask('prompts/get', prompt));
    upstream.received.length = 0;
    real.authority.decide = () => ({ decision: false });
    const answer = { inputResponses: { user_context: accepted({ context: 'x' }) }, requestState };
    expect((await ask('prompts/get', { ...prompt, ...answer })).body.error?.code).toBe(-31_001);
    expect(upstream.of('prompts/get')).toEqual([]);
  });
});

describe('answers to a question of the gateway', () => {
  it('never reach the upstream of a call that is allowed by the time they arrive', async () => {
    const schema = schemaOf({ name: { type: 'string' } });
    real.authority.schema = () => ({ status: 200, body: schema });
    const { context } = REQUESTABLE;
    const request_schema_url = `${real.authority.url}/canary-schemas/request.json?relay`;
    real.authority.decide = () => ({
      ...REQUESTABLE,
      context: { ...context, access_request: { ...context.access_request, request_schema_url } },
    });
    const capabilities = { ...EVERYTHING, ...TASKS };
    const own = questionIn(await call(asking('elicitation'), { capabilities }));
    expect(own.key).toMatch(/^request-1-/);
    real.authority.decide = () => ({ decision: true });
    const inputResponses = { [own.key]: NAMED, user_name: NAMED };
    const { body } = await call(
      { ...asking('elicitation'), inputResponses, requestState: own.requestState },
      { capabilities },
    );
    expect(body.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { user_name: { method: 'elicitation/create' } },
    });
    const [sent] = upstream.of('tools/call');
    expect([sent?.params['inputResponses'], sent?.params['requestState']]).toEqual([undefined, undefined]);
  });
});

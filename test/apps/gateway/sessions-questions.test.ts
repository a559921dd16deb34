import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { textOf } from '../../support/gateway-wire.ts';
import { accepted, schemaOf } from '../../support/input-calls.ts';
import { REQUESTABLE } from '../../support/real-gateway.ts';
import { asking, EVERYTHING, startRelayingGateway } from '../../support/relaying-gateway.ts';
import {
  beginSession,
  continueSession,
  type Message,
  type WireSession,
  type WireStream,
} from '../../support/session-wire.ts';
import { declaredTo } from '../../support/conversing-upstream.ts';

const WITHHELD = 'up__test_streaming_elicitation';

let gateway: Awaited<ReturnType<typeof startRelayingGateway>>;
let { real, upstream } = {} as typeof gateway;
beforeAll(async () => {
  gateway = await startRelayingGateway(WITHHELD);
  ({ real, upstream } = gateway);
});
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

async function begin(options: Parameters<typeof beginSession>[1] & { sub?: string } = {}) {
  const { sub = 'alice', ...rest } = options;
  const token = await real.authority.token({ aud: real.mcpUrl, sub });
  return beginSession(real, { capabilities: EVERYTHING, token, ...rest });
}
const isQuestion = ({ id, method }: Message) => id !== undefined && method !== undefined;
const questionOn = (stream: WireStream) => stream.next(isQuestion);
const resultOf = (stream: WireStream) =>
  stream.next(({ result, error }) => result !== undefined || error !== undefined);
const wordsOf = async (stream: WireStream) => textOf((await resultOf(stream)).result);
const sent = () => upstream.of('tools/call');

describe('a question of the upstream of an allowed call', () => {
  it('reaches the client of a session on the stream of its call, and the answer reaches the upstream', async () => {
    const session = await begin();
    const stream = await session.start('tools/call', asking('elicitation'));
    const question = await questionOn(stream);
    expect(question).toMatchObject({
      id: expect.stringMatching(/^ask-/),
      method: 'elicitation/create',
      params: { mode: 'form', message: 'What is your name?', requestedSchema: { required: ['name'] } },
    });
    expect((await session.answer(question, accepted({ name: 'Ada' }))).status).toBe(202);
    expect(await wordsOf(stream)).toBe('Hello, Ada!');
    await stream.ended;
    expect(sent().map(declaredTo)).toEqual([EVERYTHING, EVERYTHING]);
    expect(sent()[0]?.params['inputResponses']).toEqual({ user_name: accepted({ name: 'Ada' }) });
  });

  it('is asked beside others at once, in as many rounds as it takes, with the state of the upstream', async () => {
    const session = await begin();
    const several = await session.start('tools/call', asking('multiple_inputs'));
    await several.next(({ method }) => method === 'roots/list');
    const answers: Record<string, object> = {
      'elicitation/create': accepted({ name: 'Ada' }),
      'sampling/createMessage': { role: 'assistant', content: { type: 'text', text: 'hi' }, model: 'm' },
      'roots/list': { roots: [{ uri: 'file:///work' }] },
    };
    const questions = several.messages().filter(isQuestion);
    expect(questions.map(({ method }) => method).sort()).toEqual(Object.keys(answers).sort());
    for (const question of questions) await session.answer(question, answers[question.method ?? ''] ?? {});
    expect(await wordsOf(several)).toBe('All is answered.');

    const twice = await session.start('tools/call', asking('multi_round'));
    await session.answer(await questionOn(twice), accepted({ name: 'Ada' }));
    const second = await twice.next(({ params }) => JSON.stringify(params ?? {}).includes('favorite color'));
    await session.answer(second, accepted({ color: 'red' }));
    expect(await wordsOf(twice)).toBe('Both rounds are over.');
  });

  it('of a prompt is asked, too', async () => {
    const session = await begin();
    const stream = await session.start('prompts/get', { name: 'up__test_input_required_result_prompt' });
    await session.answer(await questionOn(stream), accepted({ context: 'x' }));
    expect((await resultOf(stream)).result).toMatchObject({ messages: [{ role: 'user' }] });
  });

  it('says in the form of its revision that it is a form', async () => {
    const session = await begin({ revision: '2025-06-18' });
    const stream = await session.start('tools/call', asking('elicitation'));
    const question = await questionOn(stream);
    expect(question.params).not.toHaveProperty('mode');
    await session.answer(question, { action: 'decline' });
    // The upstream decides what a refusal means: this one asks again.
    await stream.next((message) => isQuestion(message) && message.id !== question.id);
    expect(sent()[0]?.params['inputResponses']).toEqual({ user_name: { action: 'decline' } });
    await session.end();
  });

  it('ends after ten rounds', async () => {
    const session = await begin();
    const stream = await session.start('tools/call', asking('elicitation'));
    const answered = new Set<unknown>();
    for (let round = 0; round < 10; round += 1) {
      const question = await stream.next((message) => isQuestion(message) && !answered.has(message.id));
      answered.add(question.id);
      await session.answer(question, { action: 'cancel' });
    }
    expect(await wordsOf(stream)).toBe('The tool did not finish: its server asked more than 10 times.');
  });

  it('does not reach a client that did not declare that it can be asked so', async () => {
    const session = await begin({ capabilities: { sampling: {} } });
    const { result } = await session.ask('tools/call', asking('elicitation'));
    expect([result?.['isError'], textOf(result)]).toEqual([
      true,
      'The tool did not finish: its server has to ask through "elicitation", which this client does not offer.',
    ]);
    const earliest = await begin({ revision: '2025-03-26' });
    expect(textOf((await earliest.ask('tools/call', asking('elicitation'))).result)).toMatch(/does not offer/);
    const prompt = { name: 'up__test_input_required_result_prompt' };
    expect((await session.ask('prompts/get', prompt)).error).toEqual({
      code: -32_603,
      message:
        'The request did not finish: its server has to ask through "elicitation", which this client does not offer.',
    });
  });

  it('of a tool with withheld results does not reach the client, which is told of no capability', async () => {
    const session = await begin();
    const answer = await session.ask('tools/call', { name: WITHHELD, arguments: {} });
    expect(JSON.stringify(answer)).not.toMatch(/What is your name/);
    expect(sent().map(declaredTo)).toEqual([{}]);
  });

  it('that the client answers with an error ends the call', async () => {
    const session = await begin();
    const stream = await session.start('tools/call', asking('multiple_inputs'));
    const question = await stream.next(({ method }) => method === 'roots/list');
    await session.refuse(question, { code: -32_603, message: 'canary' });
    expect(await wordsOf(stream)).toBe(
      'The tool did not finish: the client did not answer the question of its server (roots/list).',
    );
    const takenBack = stream.messages().filter(({ method }) => method === 'notifications/cancelled');
    expect(takenBack.map(({ params }) => params?.['requestId']).sort()).toEqual(
      stream
        .messages()
        .filter((message) => isQuestion(message) && message.id !== question.id)
        .map(({ id }) => id)
        .sort(),
    );
    expect(sent()).toHaveLength(1);
  });

  it('is decided anew with its answer: a call that is now denied, or needs an approval, is not continued', async () => {
    const session = await begin();
    const ask = async () => {
      const stream = await session.start('tools/call', asking('elicitation'));
      return { stream, question: await questionOn(stream) };
    };
    const denied = await ask();
    real.authority.decide = () => ({ decision: false });
    await session.answer(denied.question, accepted({ name: 'Ada' }));
    expect(await wordsOf(denied.stream)).toMatch(/Policy does not allow/);
    real.authority.decide = () => ({ decision: true });
    const held = await ask();
    real.authority.decide = () => REQUESTABLE;
    await session.answer(held.question, accepted({ name: 'Ada' }));
    expect(await wordsOf(held.stream)).toMatch(/requires an approval/);
    expect(sent().map(({ params }) => params['inputResponses'])).toEqual([undefined, undefined]);
    expect(real.authority.submissions()).toEqual([]);
  });

  it('takes no answer from another session, another caller, or a second time', async () => {
    const [session, own, foreign] = [await begin(), await begin(), await begin({ sub: 'mallory' })];
    const stream = await session.start('tools/call', asking('elicitation'));
    const question = await questionOn(stream);
    for (const other of [own, foreign]) {
      expect((await other.answer(question, accepted({ name: 'Mallory' }))).status).toBe(202);
    }
    await session.answer({ id: 0 }, accepted({ name: 'Mallory' }));
    await session.answer(question, accepted({ name: 'Ada' }));
    await session.answer(question, accepted({ name: 'Mallory' }));
    expect(await wordsOf(stream)).toBe('Hello, Ada!');
  });

  it('reaches each of several calls at once, with its own answer', async () => {
    const sessions: WireSession[] = [await begin(), await begin({ sub: 'bob' })];
    const calls = await Promise.all(
      sessions.flatMap((session, of) =>
        Array.from({ length: 4 }, async (_none, one) => {
          const stream = await session.start('tools/call', asking('elicitation'), `c-${one}`);
          return { session, stream, name: `${of}-${one}` };
        }),
      ),
    );
    for (const { session, stream, name } of calls.reverse()) {
      await session.answer(await questionOn(stream), accepted({ name }));
    }
    for (const { stream, name } of calls) expect(await wordsOf(stream)).toBe(`Hello, ${name}!`);
  });

  it('waits for a client that lost its connection, and is asked again when it comes back', async () => {
    const session = await begin();
    const stream = await session.start('tools/call', asking('elicitation'));
    const question = await questionOn(stream);
    stream.leave();
    const again = await session.listen(stream.events()[0]?.id);
    expect((await questionOn(again)).id).toBe(question.id);
    await session.answer(question, accepted({ name: 'Ada' }));
    expect(await wordsOf(again)).toBe('Hello, Ada!');
  });

  it('is not continued once the access token of the call has expired, even if its answer comes with another', async () => {
    const session = await begin();
    const stream = await session.start('tools/call', asking('elicitation'));
    const question = await questionOn(stream);
    real.clock.aheadMs += 600_000;
    const token = await real.authority.token({ aud: real.mcpUrl });
    await continueSession(real, session.id, { token }).answer(question, accepted({ name: 'Ada' }));
    expect(await wordsOf(stream)).toBe(
      'The tool did not finish: its access token expired before the client had answered.',
    );
    expect(sent()).toHaveLength(1);
  });

  it('is not answered any more when the client cancels the call', async () => {
    const session = await begin();
    const stream = await session.start('tools/call', asking('elicitation'), 'c-1');
    const question = await questionOn(stream);
    await session.notify('notifications/cancelled', { requestId: 'c-1' });
    await stream.ended;
    await session.answer(question, accepted({ name: 'Ada' }));
    expect(await session.ask('ping')).toMatchObject({ result: {} });
    expect(stream.messages()).toEqual([question]);
    expect(sent()).toHaveLength(1);
  });
});

describe('a form of the gateway for a call that needs an approval', () => {
  const needs = (of: string) => {
    const schema = schemaOf({ team: { type: 'string', oneOf: [{ const: 'a', title: 'Team A' }] } });
    real.authority.schema = () => ({ status: 200, body: schema });
    const { context } = REQUESTABLE;
    const request_schema_url = `${real.authority.url}/canary-schemas/request.json?${of}`;
    real.authority.decide = () => ({
      ...REQUESTABLE,
      context: { ...context, access_request: { ...context.access_request, request_schema_url } },
    });
  };
  const request = (session: WireSession, tool: string) =>
    session.start('tools/call', { name: 'request_access', arguments: { tool: `up__test_${tool}`, arguments: {} } });

  it('is asked during the request, and the approval is requested with the answer', async () => {
    needs('asked');
    const session = await begin({ capabilities: { elicitation: {} } });
    const stream = await request(session, 'simple_text');
    const question = await questionOn(stream);
    expect(question.params).toMatchObject({ mode: 'form', requestedSchema: { properties: { team: { oneOf: [{}] } } } });
    expect(real.authority.submissions()).toEqual([]);
    await session.answer(question, accepted({ team: 'a' }));
    expect(await wordsOf(stream)).toMatch(/has not run/);
    const [submitted] = real.authority.submissions();
    expect(JSON.parse(submitted?.body ?? '')).toMatchObject({ context: { requester_input: { team: 'a' } } });
    expect(sent()).toEqual([]);
  });

  it('has its choices in the form of the revision', async () => {
    needs('choices');
    const session = await begin({ revision: '2025-06-18', capabilities: { elicitation: {} } });
    const stream = await request(session, 'image_content');
    const question = await questionOn(stream);
    expect(question.params?.['requestedSchema']).toMatchObject({
      properties: { team: { type: 'string', enum: ['a'], enumNames: ['Team A'] } },
    });
    await session.answer(question, { action: 'decline' });
    expect(await wordsOf(stream)).toMatch(/the input for the request was not given. Nothing was requested/);
    expect(real.authority.submissions()).toEqual([]);
  });

  it('that fails at the client opens nothing', async () => {
    needs('fails');
    const session = await begin({ capabilities: { elicitation: {} } });
    const stream = await request(session, 'audio_content');
    await session.refuse(await questionOn(stream), { code: -1, message: 'canary' });
    expect(await wordsOf(stream)).toMatch(/Nothing was requested/);
    expect(real.authority.submissions()).toEqual([]);
  });
});

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { isAlive } from '../../../apps/shared/embedded/process-tools.ts';
import { startAskingGateway } from '../../support/asking-gateway.ts';
import { SCHEMA } from '../../support/asking-server.ts';
import { declaredTo } from '../../support/conversing-upstream.ts';
import { send, textOf } from '../../support/gateway-wire.ts';
import { EVERYTHING } from '../../support/relaying-gateway.ts';
import type { Message, WireSession, WireStream } from '../../support/session-wire.ts';
import { waitFor } from '../../support/wait-for.ts';

const FORM = 'elicitation/create';
const ADA = { action: 'accept', content: { name: 'Ada' } };
const REFUSED = { code: -32_601, message: expect.stringMatching(/not offered/) };
/** The connections to the server that all share: one for each of its names. */
const SHARED = 2;

let gateway: Awaited<ReturnType<typeof startAskingGateway>>;
let { begin, server, present } = {} as typeof gateway;
beforeAll(async () => {
  gateway = await startAskingGateway();
  ({ begin, server, present } = gateway);
});
afterAll(() => gateway?.stop());
beforeEach(() => gateway.reset());
afterEach(() => gateway.end());

const calling = (name: string, args: object = {}) => ({ name, arguments: args });
const asking = (method: string, { tool = 'up__ask' } = {}) => calling(tool, { method });
const isQuestion = ({ id, method }: Message) => id !== undefined && method !== undefined;
const questionOn = (stream: WireStream) => stream.next(isQuestion);
const resultOf = (stream: WireStream) =>
  stream.next(({ result, error }) => result !== undefined || error !== undefined);
/** What the tool said, which is JSON. */
const saidBy = ({ result }: Message): unknown => JSON.parse(textOf(result));
const saidOn = async (stream: WireStream) => saidBy(await resultOf(stream));

describe('an upstream of an earlier revision', () => {
  it.each(['up__ask', 'up__ask_aside'])(
    'asks the client of a session while it works, and gets its answer (%s)',
    async (tool) => {
      const session = await begin();
      const stream = await session.start('tools/call', asking(FORM, { tool }));
      const question = await questionOn(stream);
      expect(question).toEqual({
        jsonrpc: '2.0',
        id: expect.stringMatching(/^ask-/),
        method: FORM,
        params: { message: 'Who are you?', requestedSchema: SCHEMA, _meta: { own: 2 } },
      });
      expect((await session.answer(question, ADA)).status).toBe(202);
      expect(await saidOn(stream)).toEqual(ADA);
      const sampled = await session.start('tools/call', asking('sampling/createMessage', { tool }));
      await session.refuse(await questionOn(sampled), { code: -1, message: 'The person refused.' });
      expect(await saidOn(sampled)).toEqual({ code: -1, message: expect.stringMatching(/The person refused/) });
    },
  );

  it('is told of what the client declared and the operator allows, on a connection for the session', async () => {
    const session = await begin();
    await session.ask('tools/call', asking('roots/list'));
    await session.ask('tools/call', asking('roots/list'));
    const { roots: _roots, ...allowed } = EVERYTHING;
    expect(server.began.map(({ capabilities }) => capabilities)).toEqual([allowed]);
    const rooted = await session.start('tools/call', asking('roots/list', { tool: 'rooted__ask' }));
    await session.answer(await questionOn(rooted), { roots: [{ uri: 'file:///work' }] });
    expect(await saidOn(rooted)).toEqual({ roots: [{ uri: 'file:///work' }] });
    expect(server.began.slice(1).map(({ capabilities }) => capabilities)).toEqual([{ roots: {} }]);
  });

  it('gets no answer to what it may not ask, which the client never sees', async () => {
    const session = await begin();
    const roots = await session.start('tools/call', asking('roots/list'));
    expect(await saidOn(roots)).toEqual(REFUSED);
    const form = await session.start('tools/call', asking(FORM, { tool: 'rooted__ask' }));
    expect(await saidOn(form)).toEqual(REFUSED);
    const other = await session.start('tools/call', asking('ping-all'));
    expect(await saidOn(other)).toEqual(REFUSED);
    for (const stream of [roots, form, other]) expect(stream.messages().filter(isQuestion)).toEqual([]);
  });

  it('asks no client without the capability, without a session, or of the present revision [ASKING-001]', async () => {
    const unable = await begin({ capabilities: { roots: {} } });
    const form = await begin({ capabilities: { elicitation: {} } });
    expect(saidBy(await unable.ask('tools/call', asking(FORM)))).toEqual({ code: -32_601, message: expect.anything() });
    expect(server.began).toEqual([]);
    const url = await form.start('tools/call', calling('up__sign_in'));
    expect(await saidOn(url)).toMatchObject({ message: expect.stringMatching(/does not support url elicitation/) });
    expect(url.messages().filter(isQuestion)).toEqual([]);
    const ofPresent = { token: await gateway.tokenOf('alice'), capabilities: EVERYTHING };
    expect((await send(gateway.real, 'tools/call', asking(FORM), ofPresent)).text).toMatch(/-32601/);
    expect(server.began).toHaveLength(1);
  });

  it('asks only while a request of the client is under way [ASSOC-001, ASSOC-002]', async () => {
    const session = await begin();
    const listening = await session.listen();
    expect(saidBy(await session.ask('tools/call', calling('up__ask_late')))).toBe('asked later');
    await waitFor(() => server.holds === 1);
    server.release();
    await waitFor(() => server.late.length === 1);
    expect(server.late).toEqual([{ code: -32_600, message: expect.stringMatching(/No call is under way/) }]);
    expect(listening.messages().filter(isQuestion)).toEqual([]);
    listening.leave();
  });

  it('asks each of several clients at once, and no other [ASKING-002]', async () => {
    const all = await Promise.all(['alice', 'bob', 'carol', 'alice'].map((sub) => begin({ sub })));
    const ask = async (session: WireSession, tool: string, name: string) => {
      const stream = await session.start('tools/call', asking(FORM, { tool }));
      return { session, stream, question: await questionOn(stream), name };
    };
    const byClient = await Promise.all(
      all.map(async (session, index) => [
        await ask(session, 'up__ask', `a-${index}`),
        // A question that names no call is asked beside the newest one.
        await ask(session, 'up__ask_aside', `b-${index}`),
      ]),
    );
    const calls = byClient.flat();
    expect(new Set(calls.map(({ question }) => question.id)).size).toBe(calls.length);
    for (const { session, question, name } of calls.reverse()) {
      await session.answer(question, { action: 'accept', content: { name } });
    }
    for (const { stream, name } of calls) {
      expect(await saidOn(stream)).toEqual({ action: 'accept', content: { name } });
      expect(stream.messages().filter(isQuestion)).toHaveLength(1);
    }
    expect(server.began).toHaveLength(all.length);
  });

  it('asks for a prompt, too', async () => {
    const session = await begin();
    const stream = await session.start('prompts/get', { name: 'up__about' });
    await session.answer(await questionOn(stream), ADA);
    expect(JSON.stringify((await resultOf(stream)).result)).toContain('Ada');
  });

  it('of a tool with withheld results asks nothing, over the connection that all share', async () => {
    const session = await begin();
    const stream = await session.start('tools/call', calling('up__hold'));
    await waitFor(() => server.holds === 1);
    server.release();
    expect(textOf((await resultOf(stream)).result)).toMatch(/withheld/);
    expect(server.began).toEqual([]);
  });

  it('hears that the client cancelled, and its question is taken back', async () => {
    const session = await begin();
    const stream = await session.start('tools/call', asking(FORM), 'c-1');
    await questionOn(stream);
    await session.notify('notifications/cancelled', { requestId: 'c-1' });
    await stream.ended;
    await waitFor(() => server.came.some(({ method }) => method === 'notifications/cancelled'));
    expect(await session.ask('ping')).toMatchObject({ result: {} });
  });

  it('hears that the roots of its client have changed, if it may ask for them', async () => {
    const changing = { capabilities: { ...EVERYTHING, roots: { listChanged: true } } };
    const all = [await begin(changing), await begin(changing), await begin()] as const;
    const [session, other, still] = all;
    const callAll = async () => {
      for (const one of all) await one.ask('tools/call', asking('ping-all', { tool: 'rooted__ask' }));
      await session.ask('tools/call', asking('ping-all'));
    };
    await callAll();
    const { roots: _roots, ...without } = EVERYTHING;
    const declared = [changing.capabilities, changing.capabilities, EVERYTHING].map(({ roots }) => ({ roots }));
    expect(server.began.map(({ capabilities }) => capabilities)).toEqual([...declared, without]);
    const own = server.came.find(({ method }) => method === 'tools/call')?.session;
    for (const one of [session, still]) await one.notify('notifications/roots/list_changed');
    const notices = () => server.came.filter(({ method }) => method === 'notifications/roots/list_changed');
    await waitFor(() => notices().length > 0);
    await callAll();
    expect(notices()).toMatchObject([{ session: own }]);
    await other.notify('notifications/roots/list_changed');
    await waitFor(() => notices().length === 2);
  });

  it('learns the log level of the session', async () => {
    const session = await begin();
    await session.ask('logging/setLevel', { level: 'debug' });
    const stream = await session.start('tools/call', calling('up__log'));
    expect(await saidOn(stream)).toBe('logged');
    await stream.next(({ method, params }) => method === 'notifications/message' && params?.['level'] === 'debug');
    expect(server.came.some(({ method }) => method === 'logging/setLevel')).toBe(true);
  });

  it('has its client open an address, before a call and during it, and says when that is done [ASKING-003]', async () => {
    const session = await begin();
    const listening = await session.listen();
    const first = await session.ask('tools/call', calling('up__sign_in_first'));
    const second = await session.start('tools/call', calling('up__sign_in'));
    const question = await questionOn(second);
    expect(question.params).toMatchObject({ mode: 'url', elicitationId: 'sign-in-1', url: 'https://sign-in.test/' });
    await session.answer(question, { action: 'accept' });
    expect(await saidOn(second)).toEqual({ action: 'accept' });
    expect(first.error).toMatchObject({
      code: -32_042,
      data: { elicitations: [{ mode: 'url', elicitationId: 'sign-in-2', url: 'https://sign-in.test/' }] },
    });
    for (const id of ['sign-in-1', 'sign-in-2', 'another']) await server.done(id);
    const told = () =>
      listening
        .messages()
        .flatMap(({ method, params }) =>
          method === 'notifications/elicitation/complete' ? [params?.['elicitationId']] : [],
        );
    await waitFor(() => told().length >= 2);
    expect(told()).toEqual(['sign-in-1', 'sign-in-2']);
    listening.leave();
  });

  it('demands no addresses of a client that did not declare that it opens them [ASKING-004]', async () => {
    const session = await begin({ capabilities: { elicitation: {} } });
    const { error } = await session.ask('tools/call', calling('up__sign_in_first'));
    expect([error?.code, JSON.stringify(error).includes('sign-in.test')]).toEqual([-32_603, false]);
  });

  it('loses the connection of a session that ends', async () => {
    await waitFor(() => server.listening === SHARED);
    const session = await begin();
    await session.ask('tools/call', asking('roots/list'));
    await waitFor(() => server.listening === SHARED + 1);
    await session.end();
    await waitFor(() => server.listening === SHARED);
  });
});

describe('an upstream of the present revision', () => {
  it('is told only of what the operator lets it ask, and no other question of it is handed on', async () => {
    const session = await begin();
    const call = calling('present__test_input_required_result_elicitation');
    const unasked = await session.start('tools/call', call);
    await resultOf(unasked);
    expect(present.of('tools/call').map(declaredTo)).toEqual([{ sampling: { tools: {} } }]);
    const params = { mode: 'form', message: 'Who are you?', requestedSchema: SCHEMA };
    const round = { resultType: 'input_required', inputRequests: { who: { method: FORM, params } } };
    present.forge = ({ method }) => (method === 'tools/call' ? { result: round } : undefined);
    const forged = await session.start('tools/call', call);
    expect(JSON.stringify(await resultOf(forged))).toMatch(/does not let it ask/);
    for (const stream of [unasked, forged]) expect(stream.messages().filter(isQuestion)).toEqual([]);
  });
});

describe('a change of the configuration', () => {
  afterEach(() => gateway.change());

  it('takes open questions back, and nothing is asked that is not allowed any more', async () => {
    const session = await begin();
    const stream = await session.start('tools/call', asking(FORM));
    const question = await questionOn(stream);
    await gateway.change({ asks: ['sampling'] });
    const takenBack = await stream.next(({ method }) => method === 'notifications/cancelled');
    expect(takenBack.params?.['requestId']).toBe(question.id);
    expect(await saidOn(stream)).toMatchObject({ code: -32_603, message: expect.stringMatching(/did not answer/) });
    server.reset();
    expect(saidBy(await session.ask('tools/call', asking(FORM)))).toEqual(REFUSED);
    expect(server.began.map(({ capabilities }) => capabilities)).toContainEqual({ sampling: { tools: {} } });
    await gateway.change({ asks: [] });
    server.reset();
    expect(saidBy(await session.ask('tools/call', asking(FORM)))).toEqual({
      code: -32_601,
      message: expect.anything(),
    });
    const told = server.began.filter(({ capabilities }) => Object.keys(capabilities as object).length > 0);
    expect(told).toEqual([]);
  });
});

describe('a program of an earlier revision', () => {
  it('asks nothing unless the operator lets it, and then runs once for each session that it can ask', async () => {
    const [alice, bob] = [await begin(), await begin({ sub: 'bob' })];
    const pidOf = (of: unknown) => (of as { pid: number }).pid;
    const silent = saidBy(await alice.ask('tools/call', calling('silent__ask')));
    expect(silent).toMatchObject({ answer: { code: -32_601 } });
    const answered = async (session: WireSession, name: string) => {
      const stream = await session.start('tools/call', calling('program__ask'));
      await session.answer(await questionOn(stream), { action: 'accept', content: { name } });
      const said = await saidOn(stream);
      expect(said).toMatchObject({ answer: { action: 'accept', content: { name } } });
      return pidOf(said);
    };
    const [one, again, other] = [await answered(alice, 'A'), await answered(alice, 'B'), await answered(bob, 'C')];
    expect([one === again, one === other, isAlive(one)]).toEqual([true, false, true]);
    await alice.end();
    await waitFor(() => !isAlive(one));
    expect(isAlive(other)).toBe(true);
  });

  it('does not take the folders of the client in place of those of the operator', async () => {
    const session = await begin();
    const stream = await session.start('tools/call', calling('files__list_allowed_directories'));
    const said = textOf((await resultOf(stream)).result);
    expect(said).toContain(gateway.folder);
    expect(stream.messages().filter(isQuestion)).toEqual([]);
    const read = await session.ask('tools/call', calling('files__list_directory', { path: '/' }));
    expect(textOf(read.result)).toMatch(/outside allowed directories/);
  });
});

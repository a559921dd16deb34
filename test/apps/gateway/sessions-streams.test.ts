import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { transfer } from '../../support/gateway-wire.ts';
import { beginSession, continueSession, type WireSession } from '../../support/session-wire.ts';
import { waitFor } from '../../support/wait-for.ts';

let gateway: GatewayUnderTest;
beforeAll(async () => {
  gateway = new GatewayUnderTest();
  await gateway.start();
});
afterAll(() => gateway.stop());

/** Calls that wait for their decision. */
let waiting: (() => void)[] = [];
beforeEach(() => {
  gateway.reset();
  waiting = [];
});
const holdCalls = () => {
  gateway.world.decision = () => new Promise((resolve) => waiting.push(() => resolve({ kind: 'allow' })));
};
async function startedCall(session: WireSession, id: string) {
  const stream = await session.start('tools/call', transfer(), id);
  await waitFor(() => waiting.length > 0);
  return stream;
}
/** Of pino. */
const WARN = 40;
const BOOKED = { result: { content: [{ type: 'text', text: 'booked' }] } };

describe('the stream of a request', () => {
  it('begins with an event to resume from, in the revisions that know one, even if a header names another revision', async () => {
    const session = await beginSession(gateway);
    const stream = await session.post(
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { 'mcp-protocol-version': '2025-03-26' },
    );
    await stream.ended;
    expect(stream.text()).toMatch(
      /^id: [\w-]{8}\.2-0\nretry: 2000\ndata: \n\nid: [\w-]{8}\.2-1\nevent: message\ndata: \{/,
    );
    const earlier = await beginSession(gateway, { revision: '2025-06-18' });
    const quiet = await earlier.post(
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { 'mcp-protocol-version': '2025-11-25' },
    );
    await quiet.ended;
    expect(quiet.text()).toMatch(/^: \n\nid: [\w-]{8}\.2-1\nevent: message\ndata: \{/);
  });

  it('goes on after its client left, and gives the answer to the client that comes back', async () => {
    holdCalls();
    const session = await beginSession(gateway);
    const stream = await startedCall(session, 'c-1');
    const first = (await waitFor(() => stream.events()[0])).id;
    stream.leave();
    waiting[0]?.();
    const resumed = await session.listen(first);
    await resumed.ended;
    expect(resumed.messages()).toMatchObject([{ id: 'c-1', ...BOOKED }]);
    expect(gateway.world.invocations).toHaveLength(1);
    const again = await session.listen(first);
    await again.ended;
    expect(again.messages()).toEqual(resumed.messages());
    const rest = await session.listen(resumed.events().at(-1)?.id);
    await rest.ended;
    expect([rest.status, rest.messages()]).toEqual([200, []]);
  });

  it('cannot be resumed from an event of no stream, or of another session', async () => {
    const [session, other] = [await beginSession(gateway), await beginSession(gateway)];
    const stream = await session.start('ping');
    await stream.ended;
    const [first] = stream.events();
    const mark = first?.id?.split('.')[0];
    for (const one of ['', 'x', '2-0', `${mark}.99-0`, `${mark}.2-7`, `${mark}.2-1-1`, `${first?.id}x`]) {
      const answer = await session.listen(one === '' ? 'none' : one);
      await answer.ended;
      expect([answer.status, answer.text()]).toEqual([
        400,
        expect.stringMatching(/may have been carried out. Next step: check/),
      ]);
    }
    expect((await other.listen(first?.id)).status).toBe(400);
    expect((await continueSession(gateway, session.id, { token: 'token-of-mallory' }).listen(first?.id)).status).toBe(
      404,
    );
  });

  it('goes to the newest connection, also where the gateway has not noticed that another is dead', async () => {
    holdCalls();
    const session = await beginSession(gateway);
    const stream = await startedCall(session, 'c-1');
    const first = (await waitFor(() => stream.events()[0])).id;
    const newest = await session.listen(first);
    await stream.ended;
    waiting[0]?.();
    await newest.ended;
    expect([stream.messages(), newest.messages()]).toMatchObject([[], [{ id: 'c-1', ...BOOKED }]]);
  });

  it('ends without an answer when the client cancels, and takes no place any more', async () => {
    const session = await beginSession(gateway);
    holdCalls();
    // More than the requests that a session may have at a time.
    for (let one = 0; one < 300; one += 1) {
      const stream = await session.start('tools/call', transfer(), `c-${one}`);
      await session.notify('notifications/cancelled', { requestId: `c-${one}` });
      await stream.ended;
      if (one === 0) {
        expect(stream.messages()).toEqual([]);
        expect((await session.listen(stream.events()[0]?.id)).status).toBe(400);
      }
    }
    for (const decide of waiting) decide();
    gateway.world.decision = { kind: 'allow' };
    expect(await session.ask('tools/call', transfer())).toMatchObject(BOOKED);
  });

  it('is no failure of the gateway when the client cancels during a question', async () => {
    const params = { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
    const question = { method: 'elicitation/create', params };
    gateway.world.invocation = { kind: 'input_required', inputRequests: { who: question } };
    const session = await beginSession(gateway, { capabilities: { elicitation: {} } });
    const stream = await session.start('tools/call', transfer(), 'c-1');
    await stream.next(({ method }) => method === question.method);
    await session.notify('notifications/cancelled', { requestId: 'c-1' });
    await stream.ended;
    await session.ask('ping');
    const levels = gateway.logged.map((line) => (JSON.parse(line) as { level: number }).level);
    expect(levels.filter((level) => level >= WARN)).toEqual([]);
  });

  it.each([
    ['the number 1', 1],
    ['a text', 'id'],
    ['0', 0],
  ])('gets its own answer beside others with the same id: %s', async (_what, id) => {
    const session = await beginSession(gateway, { capabilities: { elicitation: {} } });
    holdCalls();
    const first = await session.start('tools/call', transfer({ _meta: { progressToken: 'first' } }), id);
    await waitFor(() => waiting.length === 1);
    gateway.world.decision = { kind: 'allow' };
    for (const [method, params, answer] of [
      ['ping', {}, {}],
      ['tools/list', {}, { tools: expect.any(Array) }],
      ['tools/call', transfer(), BOOKED.result],
    ] as const) {
      const stream = await session.start(method, params, id);
      await stream.ended;
      expect([stream.status, stream.messages()]).toMatchObject([200, [{ id, result: answer }]]);
    }
    // A question reaches the client on the stream of the call that has it.
    const params = { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
    gateway.world.invocation = {
      kind: 'input_required',
      inputRequests: { who: { method: 'elicitation/create', params } },
    };
    const asking = await session.start('tools/call', transfer(), id);
    await asking.next(({ method }) => method === 'elicitation/create');
    // The newest of those that are under way.
    await session.notify('notifications/cancelled', { requestId: id });
    await asking.ended;
    expect([asking.messages().length, first.messages()]).toEqual([1, []]);
    gateway.world.invocation = { kind: 'error', code: 1, message: 'the first call' };
    for (const decide of waiting) decide();
    await first.ended;
    expect(first.messages()).toMatchObject([{ id, error: { message: 'the first call' } }]);
  });

  it('leaves the others alone when a client cancels an id that is not under way, or one of another type', async () => {
    const session = await beginSession(gateway);
    holdCalls();
    const stream = await session.start('tools/call', transfer(), 1);
    await waitFor(() => waiting.length === 1);
    for (const requestId of ['1', 2, 0, null, undefined])
      await session.notify('notifications/cancelled', requestId === undefined ? {} : { requestId });
    for (const decide of waiting) decide();
    await stream.ended;
    expect(stream.messages()).toMatchObject([{ id: 1, ...BOOKED }]);
  });

  it('is refused to two requests of one body that have one id', async () => {
    const session = await beginSession(gateway, { revision: '2025-03-26' });
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const refused = await session.post([ping, ping]);
    await refused.ended;
    expect([refused.status, refused.text()]).toEqual([400, expect.stringMatching(/have one id/)]);
  });

  it('is refused above the limit of a session', async () => {
    const session = await beginSession(gateway);
    holdCalls();
    await startedCall(session, 'c-1');
    const batch = Array.from({ length: 300 }, (_none, one) => session.start('tools/call', transfer(), `d-${one}`));
    const streams = await Promise.all(batch);
    expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200, 429]));
    expect(streams.filter(({ status }) => status === 200)).toHaveLength(255);
    expect((await session.end()).status).toBe(200);
    await Promise.all(streams.map(({ ended }) => ended));
    for (const decide of waiting) decide();
  });

  it('is one for all messages of a body, in the only revision that has such bodies', async () => {
    const session = await beginSession(gateway, { revision: '2025-03-26' });
    const pings = [1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
    const stream = await session.post([...pings, { jsonrpc: '2.0', method: 'notifications/initialized' }]);
    await stream.ended;
    expect(stream.messages()).toMatchObject([
      { id: 1, result: {} },
      { id: 2, result: {} },
    ]);
    const later = await beginSession(gateway);
    for (const body of [pings, [], Array.from({ length: 101 }, () => pings[0])])
      expect((await later.post(body)).status).toBe(400);
  });

  it.each([
    ['what is no message', {}, { hello: 1 }, 400],
    ['an unknown revision', { 'mcp-protocol-version': '1999-01-01' }, { jsonrpc: '2.0', id: 1, method: 'ping' }, 400],
    ['a client that takes no stream', { accept: 'application/json' }, { jsonrpc: '2.0', id: 1, method: 'ping' }, 406],
    ['what is not JSON', { 'content-type': 'text/plain' }, { jsonrpc: '2.0', id: 1, method: 'ping' }, 415],
  ])('is refused to %s', async (_what, headers, body, status) => {
    const session = await beginSession(gateway);
    expect((await session.post(body, headers as Record<string, string>)).status).toBe(status);
    expect(await session.ask('ping')).toMatchObject({ result: {} });
  });
});

describe('a client that listens', () => {
  const change = () => gateway.world.changeListeners.forEach((listener) => listener('tools'));

  it('hears of changed lists, and once of those that changed while it was away', async () => {
    const session = await beginSession(gateway);
    change();
    const stream = await session.listen();
    await waitFor(() => stream.events()[0]);
    change();
    expect(await stream.next(({ method }) => method !== undefined)).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/tools/list_changed',
    });
    stream.leave();
    await waitFor(async () => {
      for (let one = 0; one < 3; one += 1) change();
      const again = await session.listen();
      await waitFor(() => again.events()[0]);
      const heard = again.messages().length;
      again.leave();
      return heard === 1;
    });
  });

  it('has one connection: a second takes its place', async () => {
    const session = await beginSession(gateway);
    const first = await session.listen();
    const second = await session.listen();
    await first.ended;
    change();
    await second.next(({ method }) => method === 'notifications/tools/list_changed');
    second.leave();
  });

  it('is let go when its token expires, and can come back with the next one', async () => {
    const session = await beginSession(gateway);
    gateway.world.tokenSeconds = 1;
    const stream = await session.listen();
    await stream.ended;
    gateway.world.tokenSeconds = 60;
    const again = await session.listen();
    expect(again.status).toBe(200);
    again.leave();
  });
});

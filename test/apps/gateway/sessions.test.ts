import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { send, transfer } from '../../support/gateway-wire.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { beginSession, continueSession, openWire } from '../../support/session-wire.ts';

const NOT_FOUND = '{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}';

const clock = new ManualClock(Date.now());
let gateway: GatewayUnderTest;
beforeAll(async () => {
  gateway = new GatewayUnderTest({ clock, sessions: { max: 6, maxPerCaller: 3, idleSeconds: 600 } as never });
  await gateway.start();
});
/** The time passes after which the server cuts idle connections. */
const stop = async () => {
  const stopped = gateway.stop();
  await clock.advance(600_000);
  await stopped;
};
afterAll(stop);
beforeEach(() => gateway.reset());

const mallory = 'token-of-mallory';
const answerOf = async (session: ReturnType<typeof continueSession>) => {
  const answer = await session.post({ jsonrpc: '2.0', id: 1, method: 'ping' });
  await answer.ended;
  return [answer.status, answer.text()];
};
const works = async (session: ReturnType<typeof continueSession>) => {
  expect(await session.ask('ping')).toMatchObject({ result: {} });
};

describe('a session', () => {
  it.each(['2025-03-26', '2025-06-18', '2025-11-25'])('begins in the revision %s', async (revision) => {
    const session = await beginSession(gateway, { revision });
    expect(session.agreed).toMatchObject({
      protocolVersion: revision,
      capabilities: { tools: { listChanged: true }, logging: {} },
    });
    expect(session.id).toMatch(/^[0-9a-f]{12}\.[\w.-]+$/);
    expect((await session.notify('notifications/initialized')).status).toBe(202);
    expect(await session.ask('tools/call', transfer())).toMatchObject({ result: { content: [{ text: 'booked' }] } });
    expect((await session.end()).status).toBe(200);
  });

  it.each(['2024-11-05', '2024-10-07'])('does not begin in the revision %s', async (revision) => {
    const { id, agreed } = await beginSession(gateway, { revision });
    expect([id, agreed]).toMatchObject([undefined, { protocolVersion: revision, capabilities: { tools: {} } }]);
  });

  it('begins anew for an initialize with an old id', async () => {
    const session = await beginSession(gateway);
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '0' } };
    const again = await session.post({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    await again.ended;
    expect(again.headers['mcp-session-id']).not.toBe(session.id);
    expect(again.messages()).toMatchObject([{ id: 1, result: { protocolVersion: '2025-11-25' } }]);
  });

  it('does not begin for a client that takes no stream', async () => {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '0' } };
    const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params };
    const refused = await openWire(gateway, { body, headers: { accept: 'application/json' } });
    await refused.ended;
    expect([refused.status, refused.headers['mcp-session-id']]).toEqual([406, undefined]);
  });

  it('does not begin by a notification, which has no answer', async () => {
    const session = await beginSession(gateway);
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '0' } };
    const body = { jsonrpc: '2.0', method: 'initialize', params };
    for (const answer of [await openWire(gateway, { body }), await session.post(body)]) {
      await answer.ended;
      expect([answer.status, answer.headers['mcp-session-id']]).toEqual([202, undefined]);
    }
  });

  it('is not needed for a request of an earlier revision', async () => {
    const answer = await openWire(gateway, { body: { jsonrpc: '2.0', id: 7, method: 'ping' } });
    await answer.ended;
    expect([answer.status, answer.messages()]).toMatchObject([200, [{ id: 7, result: {} }]]);
    for (const method of ['GET', 'DELETE'] as const) expect((await openWire(gateway, { method })).status).toBe(405);
  });

  it('does not count for a request of the present revision, whose header is ignored [SESSION-001, HTTP-023]', async () => {
    const session = await beginSession(gateway);
    for (const id of [session.id ?? '', 'of-no-session']) {
      const answer = await send(gateway, 'tools/call', transfer(), { headers: { 'mcp-session-id': id } });
      expect(answer.body.result).toMatchObject({ content: [{ text: 'booked' }], resultType: 'complete' });
    }
  });
});

describe('the id of a session', () => {
  it('gets the same answer to the byte for another caller as an unknown one', async () => {
    const { id = '' } = await beginSession(gateway);
    const [instance, sealed = ''] = [id.slice(0, 12), id.slice(13)];
    const foreign = [
      continueSession(gateway, id, { token: mallory }),
      ...['', 'x', '.', `${instance}.`, `${instance}.x`, `${id}x`, `x${id}`, id.slice(0, -2), sealed].map((one) =>
        continueSession(gateway, one),
      ),
      continueSession(gateway, `another.${sealed}`),
      continueSession(gateway, `${instance}.${'a'.repeat(5_000)}`),
    ];
    for (const session of foreign.filter((one) => one.id !== '')) {
      expect(await answerOf(session)).toEqual([404, NOT_FOUND]);
      const listening = await session.listen();
      await listening.ended;
      expect([listening.status, listening.text()]).toEqual([404, NOT_FOUND]);
      const ended = await session.end();
      expect([ended.status, ended.text()]).toEqual([404, NOT_FOUND]);
    }
    await works(continueSession(gateway, id));
  });

  it('of another caller does not open after the session left memory', async () => {
    const session = await beginSession(gateway, { token: mallory });
    await clock.advance(700_000);
    expect(await answerOf(continueSession(gateway, session.id))).toEqual([404, NOT_FOUND]);
    await works(session);
  });

  it('ends for good when the client deletes the session', async () => {
    const session = await beginSession(gateway);
    expect((await session.end()).status).toBe(200);
    expect(await answerOf(session)).toEqual([404, NOT_FOUND]);
    expect((await session.end()).status).toBe(404);
  });

  it('ends for good also when the session had left memory', async () => {
    const session = await beginSession(gateway);
    await clock.advance(700_000);
    expect((await session.end()).status).toBe(200);
    expect(await answerOf(session)).toEqual([404, NOT_FOUND]);
  });

  it('ends for good also when other requests name it at the same time', async () => {
    for (let one = 0; one < 20; one += 1) {
      const session = await beginSession(gateway);
      await clock.advance(700_000);
      const [, ended] = await Promise.all([answerOf(session), session.end(), answerOf(session)]);
      expect(ended.status).toBe(200);
      expect(await answerOf(session)).toEqual([404, NOT_FOUND]);
    }
  });

  it('works after a restart of the instance, and after the session was idle', async () => {
    const session = await beginSession(gateway, { revision: '2025-06-18', capabilities: { sampling: {} } });
    await clock.advance(700_000);
    await works(session);
    await stop();
    await gateway.start();
    await works(session);
    expect(await session.ask('tools/call', transfer())).toMatchObject({ result: { content: [{ text: 'booked' }] } });
  });
});

describe('the limits on sessions', () => {
  const listening = async (count: number, token?: string) => {
    const sessions = [];
    for (let one = 0; one < count; one += 1) {
      const session = await beginSession(gateway, token === undefined ? {} : { token });
      sessions.push({ session, stream: await session.listen() });
    }
    return sessions;
  };
  const leave = async (sessions: Awaited<ReturnType<typeof listening>>) => {
    for (const { session, stream } of sessions) {
      stream.leave();
      await session.end();
    }
  };
  beforeEach(() => clock.advance(700_000));

  it('let an unused session of the caller go on by its id', async () => {
    const sessions = [];
    for (let one = 0; one < 5; one += 1) sessions.push(await beginSession(gateway));
    for (const session of sessions) await works(session);
  });

  it('leave a caller whose sessions are all in use without a further one', async () => {
    const sessions = await listening(3);
    try {
      expect((await beginSession(gateway)).id).toBeUndefined();
      expect((await beginSession(gateway, { token: mallory })).id).toBeDefined();
    } finally {
      await leave(sessions);
    }
    expect((await beginSession(gateway)).id).toBeDefined();
  });

  it('serve an idle session without one when there is no room for it', async () => {
    const session = await beginSession(gateway);
    await clock.advance(700_000);
    const sessions = await listening(3);
    try {
      await works(session);
      expect((await session.listen()).status).toBe(405);
    } finally {
      await leave(sessions);
    }
    await works(session);
  });

  it('stop a flood of new sessions, and no other client', async () => {
    const ids = [];
    // More than twice the limit of a minute, so that it is met although the minute may end between two of them.
    for (let one = 0; one < 500; one += 1) ids.push((await beginSession(gateway, { token: mallory })).id);
    expect(ids.filter((id) => id === undefined).length).toBeGreaterThanOrEqual(5);
    expect((await beginSession(gateway)).id).toBeDefined();
    await works(continueSession(gateway, ids[0], { token: mallory }));
  });
});

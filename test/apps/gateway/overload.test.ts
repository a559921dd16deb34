import { afterEach, describe, expect, it } from '@jest/globals';
import type { Decision } from '../../../workflows/domain/authzen/evaluation.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { OWN_TOOLS } from '../../../apps/gateway/wire/identifiers.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { aView, type FakeWorld, requestable, TASK_ID } from '../../support/gateway-world.ts';
import { post, send, transfer, type Sent } from '../../support/gateway-wire.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { beginSession } from '../../support/session-wire.ts';
import { PATIENT_LIMITS } from '../../support/time.ts';
import { waitFor } from '../../support/wait-for.ts';

/** So many calls are decided on at once. */
const ROOM = 32;

let gateway!: GatewayUnderTest;
let answer: (decision: Decision) => void = () => undefined;
afterEach(() => {
  // A gateway waits for its open calls before it stops.
  answer({ kind: 'allow' });
  return gateway.stop();
});

/** A gateway whose decision point answers when the test says so. */
async function start({ taken = ROOM } = {}) {
  const clock = new ManualClock(Date.now());
  gateway = new GatewayUnderTest({ clock });
  await gateway.start();
  const { world } = gateway;
  const decided = new Promise<Decision>((resolve) => (answer = resolve));
  world.decision = () => decided;
  const call = () => send(gateway, 'tools/call', transfer());
  const full = Array.from({ length: taken }, call);
  await waitFor(() => world.evaluations.length === taken);
  return { world, clock, call, full, answer };
}
/** The answer to a request that may wait for a place until the gateway turns it away. */
async function afterTheWait<T>(clock: ManualClock, asked: Promise<T>): Promise<T> {
  let said: { readonly is: T } | undefined;
  void asked.then((is) => (said = { is }));
  const { is } = await waitFor(async () => {
    await clock.advance(PATIENT_LIMITS.admissionMs);
    return said;
  });
  return is;
}
const statuses = (answers: readonly Sent[]) => answers.map(({ status }) => status);

describe('a gateway with more calls than it can decide on', () => {
  it('turns a further one away soon, before it is decided on or recorded, and says when to come again', async () => {
    const { world, clock, call, full, answer } = await start();
    const further = call();
    const said = await afterTheWait(clock, further);
    expect(said).toMatchObject({ status: 503, body: { error: { message: expect.stringMatching(/did not run/) } } });
    expect(said.headers.get('retry-after')).toBe('1');
    expect([world.evaluations.length, world.openings.length]).toEqual([ROOM, 0]);
    answer({ kind: 'allow' });
    expect(new Set(statuses(await Promise.all(full)))).toEqual(new Set([200]));
    expect((await call()).status).toBe(200);
  });

  it('takes a further one up as soon as another is decided on', async () => {
    const { call, full, answer } = await start();
    const further = call();
    answer(requestable());
    expect(new Set(statuses(await Promise.all([...full, further])))).toEqual(new Set([200]));
  });

  it('answers questions about tasks and requests, and its own tool for them, as before', async () => {
    const { world, answer } = await start();
    world.view = aView();
    expect((await send(gateway, 'tasks/get', { taskId: TASK_ID })).status).toBe(200);
    const status = { name: OWN_TOOLS.requestStatus, arguments: {} };
    expect((await send(gateway, 'tools/call', status)).status).toBe(200);
    expect((await send(gateway, 'tools/list')).status).toBe(200);
    answer({ kind: 'allow' });
  });

  it('has room again for others while a tool works, or a held call waits for its end', async () => {
    const { world, call, full, answer } = await start();
    answer({ kind: 'allow' });
    await Promise.all(full);
    let ended: () => void = () => undefined;
    const works = new Promise<void>((resolve) => (ended = resolve));
    world.whileItRuns = works;
    const running = Array.from({ length: ROOM + 8 }, call);
    await waitFor(() => world.invocations.length === 2 * ROOM + 8);
    ended();
    expect(new Set(statuses(await Promise.all(running)))).toEqual(new Set([200]));
  });
});

/** So many calls are in one body. */
const TOGETHER = 2;
const BATCHES_IN = '2025-03-26';
const batch = () =>
  Array.from({ length: TOGETHER }, (_none, id) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: transfer() }));

/** Ways to send two calls in one body, each with the words of its answers. */
const BATCHES = {
  'without a session': async () => {
    const { text } = await post(gateway, JSON.stringify(batch()), { authorization: 'Bearer token-of-alice' });
    return text;
  },
  'in a session': async () => {
    const session = await beginSession(gateway, { revision: BATCHES_IN });
    const stream = await session.post(batch());
    await stream.ended;
    return stream.text();
  },
};

describe.each(Object.entries(BATCHES))('a batch of two calls %s', (_how, sendBatch) => {
  it('runs whole when one place is free', async () => {
    const { world, full, answer } = await start({ taken: ROOM - 1 });
    const answered = sendBatch();
    await waitFor(() => world.evaluations.length === ROOM - 1 + TOGETHER);
    answer({ kind: 'allow' });
    expect((await answered).match(/booked/g)).toHaveLength(TOGETHER);
    await Promise.all(full);
    expect(world.invocations).toHaveLength(ROOM - 1 + TOGETHER);
  });

  it('runs no call when no place is free in time, and says so', async () => {
    const { world, clock, full, answer } = await start();
    const said = await afterTheWait(clock, sendBatch());
    expect(said).not.toContain('booked');
    expect(said.match(/may be repeated later/g)).toHaveLength(TOGETHER);
    expect(world.evaluations).toHaveLength(ROOM);
    answer({ kind: 'allow' });
    await Promise.all(full);
    expect(world.invocations).toHaveLength(ROOM);
  });
});

/** Ends of a call that do not send it to its tool. */
const NOT_SENT: readonly (readonly [string, FakeWorld['decision']])[] = [
  ['denied', { kind: 'deny' }],
  ['put off', { kind: 'retry' }],
  ['not decided on', new CountersignError('ERR_PDP_UNAVAILABLE', 'the decision point is down')],
];

it.each(NOT_SENT)('calls of a session that are %s leave room for others', async (_how, decision) => {
  const { world, clock, call } = await start({ taken: 0 });
  const session = await beginSession(gateway);
  world.decision = decision;
  for (let n = 0; n < ROOM; n += 1) await session.ask('tools/call', transfer());
  world.decision = { kind: 'allow' };
  expect((await afterTheWait(clock, call())).status).toBe(200);
});

it('a call that waits for a place is refused before the headers of a slow answer go out', async () => {
  const { clock, full, answer } = await start();
  const before = clock.waiting;
  const further = send(gateway, 'tools/call', transfer());
  // For its place, and for its first byte.
  await waitFor(() => clock.waiting === before + 2);
  await clock.advance(PATIENT_LIMITS.admissionMs);
  const said = await further;
  expect([said.status, said.headers.get('content-type')]).toEqual([503, expect.stringContaining('json')]);
  answer({ kind: 'allow' });
  await Promise.all(full);
});

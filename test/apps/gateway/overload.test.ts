import { afterEach, describe, expect, it } from '@jest/globals';
import type { Decision } from '../../../workflows/domain/authzen/evaluation.ts';
import { OWN_TOOLS } from '../../../apps/gateway/wire/identifiers.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { aView, requestable, TASK_ID } from '../../support/gateway-world.ts';
import { send, transfer, type Sent } from '../../support/gateway-wire.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { PATIENT_LIMITS } from '../../support/time.ts';
import { waitFor } from '../../support/wait-for.ts';

/** So many calls are decided on at once. */
const ROOM = 32;

let gateway!: GatewayUnderTest;
afterEach(() => gateway.stop());

/** A gateway whose decision point answers when the test says so. */
async function start() {
  const clock = new ManualClock(Date.now());
  gateway = new GatewayUnderTest({ clock });
  await gateway.start();
  const { world } = gateway;
  let answer: (decision: Decision) => void = () => undefined;
  const decided = new Promise<Decision>((resolve) => (answer = resolve));
  world.decision = () => decided;
  const call = () => send(gateway, 'tools/call', transfer());
  const full = Array.from({ length: ROOM }, call);
  await waitFor(() => world.evaluations.length === ROOM);
  return { world, clock, call, full, answer: (decision: Decision) => answer(decision) };
}
const statuses = (answers: readonly Sent[]) => answers.map(({ status }) => status);

describe('a gateway with more calls than it can decide on', () => {
  it('turns a further one away soon, before it is decided on or recorded, and says when to come again', async () => {
    const { world, clock, call, full, answer } = await start();
    const further = call();
    let said: Sent | undefined;
    void further.then((sent) => (said = sent));
    await waitFor(async () => {
      await clock.advance(PATIENT_LIMITS.admissionMs);
      return said;
    });
    expect(said).toMatchObject({ status: 503, body: { error: { message: expect.stringMatching(/did not run/) } } });
    expect(said?.headers.get('retry-after')).toBe('1');
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

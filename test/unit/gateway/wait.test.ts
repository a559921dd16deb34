import { beforeEach, describe, expect, it } from '@jest/globals';
import { createConcurrencyLimit } from '../../../apps/gateway/calls/concurrency-limit.ts';
import { waitForEnd } from '../../../apps/gateway/calls/wait.ts';
import { waitingProgress } from '../../../apps/gateway/wire/waiting-progress.ts';
import type { Progress } from '../../../workflows/domain/upstream-ports.ts';
import { ALICE, aView, FakeWorld, TASK_ID } from '../../support/gateway-world.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const DAY_MS = 86_400_000;

let clock: ManualClock;
let world: FakeWorld;
let concurrency: ReturnType<typeof createConcurrencyLimit>;
let said: Progress[];
let client: AbortController;
beforeEach(() => {
  clock = new ManualClock();
  world = new FakeWorld();
  concurrency = createConcurrencyLimit({ perSubject: 1, overall: 1 });
  said = [];
  client = new AbortController();
});

const waiting = (seconds: number, view = aView(), isTold?: () => boolean) => {
  world.view = view;
  const onWaiting = waitingProgress(
    (progress) => void said.push(progress),
    () => clock.now(),
  );
  const { gatedCalls, taskChanges } = world;
  const waiter = { seconds, nextSeconds: seconds, onWaiting, isTold, caller: ALICE, signal: client.signal };
  return waitForEnd({ gatedCalls, taskChanges, clock, concurrency }, view, waiter);
};
/** Nothing waits, and no timer is left. */
const isIdle = () =>
  concurrency.acquire('another') !== undefined && clock.waiting === 0 && world.taskListeners.size === 0;

describe('a wait', () => {
  it('says every ten seconds that it goes on, with a number that increases and the time that is left', async () => {
    const decideBy = new Date(clock.now() + DAY_MS + 25_000).toISOString();
    const wait = waiting(240, aView({ decideBy }));
    await clock.advance(25_000);
    const message = 'The call waits for an approval. The request ends in 1 day.';
    expect(said).toEqual([1, 2, 3].map((progress) => ({ progress, message })));
    await clock.advance(5_000 + 60 * 1_000);
    expect(said.at(-1)).toEqual({ progress: 10, message: expect.stringMatching(/ends in 23 hours\./) });
    await clock.advance(240_000);
    expect(await wait).toMatchObject({ view: { state: 'pending' }, nextSeconds: 240 });
    expect(said.length).toBeLessThanOrEqual(25);
    expect(isIdle()).toBe(true);
  });

  it('ends when the call asks for input', async () => {
    const wait = waiting(240);
    await clock.advance(1);
    world.view = aView({ state: 'input_required' });
    world.tell(TASK_ID);
    expect((await wait).view.state).toBe('input_required');
    expect(isIdle()).toBe(true);
  });

  it('ends when the caller leaves, without another read', async () => {
    const wait = waiting(240);
    await clock.advance(1);
    const reads = world.lookups.length;
    client.abort();
    expect((await wait).view.state).toBe('pending');
    expect([world.lookups.length, isIdle()]).toEqual([reads, true]);
  });

  it('ends when the gateway stops', async () => {
    const wait = waiting(240);
    await clock.advance(1);
    concurrency.close();
    expect((await wait).view.state).toBe('pending');
    expect([clock.waiting, world.taskListeners.size]).toEqual([0, 0]);
  });

  it.each([
    ['counts as told to a client that listens', true, 1],
    ['does not count as told to a client that is away', false, 0],
  ])('whose end %s', async (_how, isTold, told) => {
    const wait = waiting(240, aView(), () => isTold);
    await clock.advance(1);
    world.told.length = 0;
    world.view = aView({ state: 'denied', reason: 'resolution_denied' });
    world.tell(TASK_ID);
    expect((await wait).view.state).toBe('denied');
    expect(world.told).toHaveLength(told);
  });

  it('of no length reads nothing and says nothing', async () => {
    expect(await waiting(0)).toEqual({ view: aView(), nextSeconds: 0 });
    expect([said, world.lookups]).toEqual([[], []]);
  });
});

import { describe, expect, it } from '@jest/globals';
import { createPlaces } from '../../activities/places.ts';
import { INVOCATIONS_AT_ONCE } from '../../workflows/activity-ports.ts';
import { ownCalls } from '../support/own-calls.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { stepsIn } from '../support/steps.ts';
import { ORDINARY_LIMITS } from '../support/time.ts';

const CLAIMED = { kind: 'claimed', waitMs: 0 };
const NOT_YET = { kind: 'retry', waitMs: 1 };
const settings = {
  ...{ executionTimeoutMs: 60_000, callbackUrl: '', maxGenerations: 1, outcomeProbes: {} },
};

function somePlaces(claimsAtOnce: number) {
  const clock = new ManualClock();
  const places = createPlaces({ clock, limits: ORDINARY_LIMITS, settings: { ...settings, claimsAtOnce } });
  const decided: string[] = [];
  const decide = (id: string, answer = CLAIMED) =>
    places.within(
      id,
      async () => {
        decided.push(id);
        return answer;
      },
      (waitMs) => ({ kind: 'later', waitMs }),
    );
  return { clock, places, decided, decide };
}

describe('the places of a worker', () => {
  it('let no more calls be claimed than there are places, until one has its permit', async () => {
    const { places, decided, decide } = somePlaces(2);
    await decide('a');
    await decide('b');
    const third = decide('c');
    await Promise.resolve();
    expect(decided).toEqual(['a', 'b']);
    places.leave('a');
    expect(await third).toEqual(CLAIMED);
    expect(decided).toEqual(['a', 'b', 'c']);
  });

  it('are free again after a step that claimed nothing, and after one that failed', async () => {
    const { places, decided, decide } = somePlaces(1);
    await decide('a', NOT_YET);
    const failing = places.within(
      'b',
      () => Promise.reject(new Error('away')),
      () => NOT_YET,
    );
    await expect(failing).rejects.toThrow('away');
    await decide('c');
    expect(decided).toEqual(['a', 'c']);
  });

  it('send calls away that would wait long, each to its own turn, so that they do not come together', async () => {
    const { decided, decide } = somePlaces(1);
    await decide('a');
    void decide('waits here');
    const turns = await Promise.all(['b', 'c', 'd'].map((id) => decide(id)));
    expect(turns.map(({ kind }) => kind)).toEqual(['later', 'later', 'later']);
    const waits = turns.map(({ waitMs }) => waitMs);
    expect(new Set(waits).size).toBe(3);
    expect(waits).toEqual([...waits].sort((one, other) => one - other));
    expect(decided).toEqual(['a']);
  });

  it('never send a call away for long, however many came before it', async () => {
    const { decide } = somePlaces(1);
    await decide('a');
    void decide('waits here');
    const turns = await Promise.all(Array.from({ length: 1_000 }, (_, n) => decide(`${n}`)));
    expect(Math.max(...turns.map(({ waitMs }) => waitMs))).toBeLessThanOrEqual(30_000);
  });

  it('send a call away that waited in vain', async () => {
    const { clock, decide } = somePlaces(1);
    await decide('a');
    const second = decide('b');
    await clock.advance(5_000);
    expect(await second).toMatchObject({ kind: 'later' });
  });

  it('are not held for a call that another process sends', async () => {
    const { clock, decided, decide } = somePlaces(1);
    await decide('a');
    await clock.advance(ORDINARY_LIMITS.claimHandOverMs);
    await decide('b');
    expect(decided).toEqual(['a', 'b']);
  });

  it('are held while the step that sends has no permit yet, and not while the tool works', async () => {
    const { clock, places, decided, decide } = somePlaces(1);
    await decide('a');
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const sent = places.sending('a', () => answered);
    await clock.advance(ORDINARY_LIMITS.claimHandOverMs);
    expect(await Promise.race([decide('b'), clock.advance(5_000).then(() => ({ kind: 'nothing' }))])).not.toEqual(
      CLAIMED,
    );
    places.leave('a');
    await decide('c');
    expect(decided).toEqual(['a', 'c']);
    answer();
    await sent;
  });

  it('count the tools that work, so that no claimed call waits for the process to call its tool', async () => {
    const { places, decided, decide } = somePlaces(8);
    const endless = new Promise<void>(() => undefined);
    for (let n = 0; n < INVOCATIONS_AT_ONCE; n += 1) void places.sending(`${n}`, () => endless);
    void decide('a');
    await Promise.resolve();
    expect(decided).toEqual([]);
  });
});

/** The answers that come first, as many as this. */
function firstOf<T>(promises: readonly Promise<T>[], count: number): Promise<readonly T[]> {
  const found: T[] = [];
  return new Promise((resolve, reject) => {
    for (const promise of promises) {
      promise.then((one) => found.push(one) === count && resolve(found), reject);
    }
  });
}

describe('a worker with many approved calls', () => {
  const own = ownCalls();

  it('claims as many as it can send, and leaves the others granted, where they can be cancelled', async () => {
    const calls = await Promise.all(Array.from({ length: 12 }, () => own.fixture.granted()));
    const steps = stepsIn({ claimsAtOnce: 2, isDecidedOnce: true }, own.fixture.lifecycle);
    // Two find a place, two wait for one, and the others are sent away.
    const taken = calls.map((call) => steps.decideAndClaim(call));
    const found = await firstOf(taken, 10);
    expect(found.map(({ kind }) => kind).sort()).toEqual([
      ...Array<string>(2).fill('claimed'),
      ...Array<string>(8).fill('retry'),
    ]);
    const { rows } = await own.db.pool.query(
      'SELECT state, count(*)::int AS n FROM gateway.gated_call GROUP BY state ORDER BY state',
    );
    expect(rows).toEqual([
      { state: 'claimed', n: 2 },
      { state: 'granted', n: 10 },
    ]);
  });
});

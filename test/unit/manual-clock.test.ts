import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { systemClock, timeLimit } from '../../apps/shared/clock.ts';
import { limitsOf } from '../../apps/shared/limits.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { ORDINARY_LIMITS } from '../support/time.ts';

describe('the manual clock', () => {
  it('runs due timers in order, at their instants, with their consequences', async () => {
    const clock = new ManualClock(1_000);
    const done: [what: string, at: number][] = [];
    const note = (what: string) => void done.push([what, clock.now()]);
    clock.once(30, () => note('once'));
    const stop = clock.every(20, () => note('every'));
    void clock.after(5).then(async () => {
      note('first');
      await clock.after(7);
      note('second');
    });
    await clock.advance(40);
    stop();
    await clock.advance(1_000);
    expect(done).toEqual([
      ['first', 1_005],
      ['second', 1_012],
      ['every', 1_020],
      ['once', 1_030],
      ['every', 1_040],
    ]);
    expect([clock.now(), clock.monotonicMs(), clock.waiting]).toEqual([2_040, 1_040, 0]);
  });

  it('fires signals, and lets a wait end with one', async () => {
    const clock = new ManualClock();
    const signal = clock.signalAfter(10);
    const waited = clock.after(60_000, signal);
    await clock.advance(9);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    await waited;
    expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
    expect(clock.waiting).toBe(0);
  });

  it('is set without firing a timer', async () => {
    const clock = new ManualClock();
    let isDone = false;
    clock.once(10, () => (isDone = true));
    clock.set(clock.now() + 3_600_000);
    await clock.advance(9);
    expect(isDone).toBe(false);
  });
});

describe('the clock of the machine', () => {
  it('ends a wait with its signal, also one that has fired before', async () => {
    const over = new AbortController();
    const waited = systemClock.after(60_000, over.signal);
    over.abort();
    await waited;
    await systemClock.after(60_000, over.signal);
  });

  it('calls no function after its timer was ended', async () => {
    let calls = 0;
    systemClock.once(1, () => (calls += 1))();
    systemClock.every(1, () => (calls += 1))();
    await systemClock.after(20);
    expect(calls).toBe(0);
  });

  it('does not treat a time beyond a timer’s maximum as zero', () => {
    expect(systemClock.signalAfter(2 ** 40).aborted).toBe(false);
    const cancel = systemClock.once(2 ** 40, () => undefined);
    cancel();
  });
});

describe('a signal with a time limit', () => {
  it('aborts at the end of the time, and then releases the other signal', async () => {
    const clock = new ManualClock();
    const other = new AbortController();
    const { signal } = timeLimit(clock, 10, other.signal);
    await clock.advance(9);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
    expect(getEventListeners(other.signal, 'abort')).toEqual([]);
  });

  it('aborts with the other signal, also one that has aborted before, and then needs no timer', () => {
    const clock = new ManualClock();
    const other = new AbortController();
    const { signal } = timeLimit(clock, 10, other.signal);
    other.abort('gone');
    expect([signal.reason, timeLimit(clock, 10, other.signal).signal.reason]).toEqual(['gone', 'gone']);
    expect(clock.waiting).toBe(0);
  });

  it('releases both when it is ended', () => {
    const clock = new ManualClock();
    const other = new AbortController();
    const { signal, end } = timeLimit(clock, 10, other.signal);
    end();
    other.abort();
    expect([signal.aborted, clock.waiting]).toEqual([false, 0]);
  });
});

describe('the limits', () => {
  it('are all multiplied for a slow machine, and still fit a timer and a setting of the database', () => {
    const slow = limitsOf({ timeLimitFactor: 1_000 });
    for (const name of Object.keys(slow) as (keyof typeof slow)[]) {
      expect(slow[name]).toBe(ORDINARY_LIMITS[name] * 1_000);
      expect(slow[name]).toBeLessThan(2 ** 31);
    }
  });

  it('are whole milliseconds where a library takes them in seconds, for every factor', () => {
    for (let timeLimitFactor = 1; timeLimitFactor <= 1_000; timeLimitFactor += 1) {
      const { signInMs, tokenMs } = limitsOf({ timeLimitFactor });
      for (const ms of [signInMs, tokenMs]) expect((ms / 1_000) * 1_000).toBe(ms);
    }
  });

  it('keep their order', () => {
    const limits = ORDINARY_LIMITS;
    expect(limits.accessRequestServiceMs + limits.handleRecordingMs).toBeLessThan(limits.submissionLeaseMs);
    expect(limits.databaseStatementMs).toBeLessThan(limits.databaseAnswerMs);
    expect(limits.foreignPdpAnswerMs).toBeLessThan(limits.pdpAnswerMs);
    expect(limits.revocationsMs + limits.approvalKeysMs).toBeLessThan(limits.pdpAnswerMs);
    expect(limits.signInMs).toBeLessThan(limits.databaseStatementMs);
    expect(limits.serverCloseMs).toBeLessThan(limits.stopMs);
  });
});

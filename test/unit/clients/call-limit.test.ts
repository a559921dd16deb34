import { describe, expect, it } from '@jest/globals';
import { CallLimit } from '../../../activities/clients/upstream/call-limit.ts';
import { ManualClock } from '../../support/manual-clock.ts';

describe('the time limit of a request to an upstream that may ask', () => {
  it('does not count the time in which a question is open', async () => {
    const clock = new ManualClock();
    const limit = new CallLimit(clock, 1_000);
    await clock.advance(600);
    const [first, second] = [limit.pause(), limit.pause()];
    await clock.advance(5_000);
    first();
    first();
    await clock.advance(5_000);
    expect(limit.signal.aborted).toBe(false);
    second();
    await clock.advance(399);
    expect(limit.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(limit.signal.aborted).toBe(true);
  });

  it('never fires without a limit, or after its end', async () => {
    const clock = new ManualClock();
    const [without, ended] = [new CallLimit(clock, undefined), new CallLimit(clock, 1_000)];
    without.pause()();
    const resume = ended.pause();
    ended.end();
    resume();
    await clock.advance(1e9);
    expect([without.signal.aborted, ended.signal.aborted]).toEqual([false, false]);
  });
});

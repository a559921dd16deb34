import { expect, it } from '@jest/globals';
import { Lane } from '../../../../apps/shared/schemas/lane.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const LIMITS = { startMs: 30_000, compileMs: 2_000, checkMs: 250 };
const question = { key: 'a', of: 'inputSchema', schema: { type: 'object' }, value: {} } as const;

/** It notes how long it is asked to wait. `overdue`: such a wait is over at once. */
class NotingClock extends ManualClock {
  readonly waits: number[] = [];
  overdue = 0;

  override once(ms: number, act: () => void) {
    this.waits.push(ms);
    if (ms !== this.overdue) return super.once(ms, act);
    act();
    return () => undefined;
  }
}

it('does not take the start of its thread for the time of a schema', async () => {
  const clock = new NotingClock();
  const lane = new Lane(clock);
  expect(await lane.ask(question, LIMITS)).toEqual({ verdict: { problems: [] }, tookMs: 0 });
  expect(clock.waits).toEqual([LIMITS.startMs, LIMITS.compileMs + LIMITS.checkMs]);
  expect(await lane.ask(question, LIMITS)).toMatchObject({ verdict: { problems: [] } });
  expect(clock.waits.slice(2)).toEqual([LIMITS.checkMs]);
});

it('waits no longer for its thread than a start may take, and starts another one for the next question', async () => {
  const clock = new NotingClock();
  const lane = new Lane(clock);
  clock.overdue = LIMITS.startMs;
  expect(await lane.ask(question, LIMITS)).toMatchObject({ verdict: undefined });
  clock.overdue = 0;
  expect(await lane.ask(question, LIMITS)).toMatchObject({ verdict: { problems: [] } });
});

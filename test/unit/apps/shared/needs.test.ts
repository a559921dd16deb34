import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import express from 'express';
import { pino } from 'pino';
import { healthRouter } from '../../../../apps/shared/http/health.ts';
import { startWatchingNeeds } from '../../../../apps/shared/needs.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { ORDINARY_LIMITS, systemTime } from '../../../support/time.ts';

type Line = Record<string, unknown>;

/** A need whose answer a test sets. */
const aNeed = (isVital: boolean, alarm = 'database_unusable') => {
  const need = { alarm, isVital, answer: undefined as string | undefined | Promise<never> };
  return {
    ...need,
    set: (answer: typeof need.answer) => void (need.answer = answer),
    problem: async () => need.answer,
  };
};

const never = new Promise<never>(() => undefined);

describe('the watch over what a process needs', () => {
  const ending: (() => Promise<void>)[] = [];
  afterEach(() => Promise.all(ending.splice(0).map((end) => end())));

  function watching(...needs: ReturnType<typeof aNeed>[]) {
    const clock = new ManualClock();
    const lines: Line[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line) as Line) });
    const watch = startWatchingNeeds({ needs, clock, limits: ORDINARY_LIMITS, log });
    ending.push(() => watch.stop());
    const told = () => lines.splice(0).map(({ alarm, ended, msg }) => [alarm ?? ended, msg]);
    return { pass: (seconds: number) => clock.advance(seconds * 1_000), told };
  }

  it('raises an alarm at the second look in a row, so that a short interruption raises none', async () => {
    const need = aNeed(true);
    const { pass, told } = watching(need);
    need.set('it is away; start it');
    await pass(10);
    need.set(undefined);
    await pass(10);
    need.set('it is away; start it');
    await pass(10);
    expect(told()).toEqual([]);
    await pass(10);
    expect(told()).toEqual([['database_unusable', 'it is away; start it']]);
  });

  it('raises it once in ten minutes, and says once that it has ended', async () => {
    const need = aNeed(false);
    const { pass, told } = watching(need);
    need.set('no worker');
    for (let seconds = 0; seconds < 1_220; seconds += 10) await pass(10);
    expect(told()).toHaveLength(3);
    need.set(undefined);
    await pass(30);
    expect(told()).toEqual([['database_unusable', 'the alarm database_unusable has ended']]);
  });

  it('raises it again if another problem takes the place of the one that was told', async () => {
    const need = aNeed(true);
    const { pass, told } = watching(need);
    for (const problem of ['it is away', 'it is read-only']) {
      need.set(problem);
      await pass(10);
      await pass(10);
    }
    expect(told()).toEqual([
      ['database_unusable', 'it is away'],
      ['database_unusable', 'it is read-only'],
    ]);
  });

  it('raises an alarm for a need that answers nothing, and for one whose examination fails', async () => {
    const silent = aNeed(true);
    const failing = aNeed(true, 'pdp_unusable');
    const { pass, told } = watching(silent, failing);
    silent.set(never);
    failing.set(Promise.reject(new Error('broken')));
    for (let second = 0; second < 40; second += 1) await pass(1);
    const words = expect.stringMatching(/could not find out within \d+ seconds/);
    expect(told()).toEqual([
      ['database_unusable', words],
      ['pdp_unusable', words],
    ]);
  });
});

describe('a probe', () => {
  it('answers 503 without what the process cannot do without, and names what makes work wait beside 200', async () => {
    const vital = aNeed(true);
    const other = aNeed(false, 'work_not_taken');
    const server = express()
      .use(healthRouter([vital, other], { ...systemTime, clock: new LateClock() }))
      .listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const probe = async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
      return [answer.status, await answer.json()];
    };
    try {
      expect(await probe()).toEqual([200, { status: 'ok' }]);
      other.set('no worker');
      expect(await probe()).toEqual([200, { status: 'ok', concerns: ['no worker'] }]);
      vital.set('no database');
      expect(await probe()).toEqual([
        503,
        { status: 'unavailable', problems: ['no database'], concerns: ['no worker'] },
      ]);
    } finally {
      server.close();
    }
  });
});

/** Each look comes a minute after the one before, so that no result is reused. */
class LateClock extends ManualClock {
  #looks = 0;
  override monotonicMs(): number {
    this.#looks += 1;
    return this.#looks * 60_000;
  }
}

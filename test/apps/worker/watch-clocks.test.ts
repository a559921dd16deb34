import { afterEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import type { Clock } from '../../../apps/shared/clock.ts';
import { startWatchClocks, type OtherClocks } from '../../../apps/worker/jobs/watch-clocks.ts';
import { waitFor } from '../../support/wait-for.ts';
import { systemTime } from '../../support/time.ts';

interface Line {
  readonly level: number;
  readonly alarm?: string;
  readonly apartMs: number;
  readonly databaseAheadMs: number;
  readonly msg: string;
}

const WARN = 40;
/** Our clock always shows this time, so an answer takes no time even when the machine stands still. */
const OURS = Date.parse('2026-11-21T09:00:00Z');
let probe: ReturnType<typeof startWatchClocks> | undefined;
afterEach(() => probe?.stop());

/** A probe over clocks that are ahead of ours by these milliseconds, and its readings. An absent clock does not answer. */
function over(
  ahead: { database?: number; accessRequests?: number | 'no time' },
  clock: Pick<Clock, 'now'> = { now: () => OURS },
) {
  const lines: Line[] = [];
  const rounds = { begun: 0 };
  const clocks: OtherClocks = {
    async database() {
      rounds.begun += 1;
      if (ahead.database === undefined) throw new Error('away');
      return OURS + ahead.database;
    },
    async accessRequests() {
      if (ahead.accessRequests === undefined) throw new Error('away');
      return ahead.accessRequests === 'no time' ? undefined : OURS + ahead.accessRequests;
    },
  };
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Line) });
  probe = startWatchClocks({ clocks, intervalMs: 10, log, clock: { ...systemTime.clock, ...clock } });
  const { agree } = probe;
  /** Waits for the end of a round that begins after now. */
  const looked = async () => {
    const { begun } = rounds;
    await waitFor(() => rounds.begun >= begun + 2);
  };
  return { agree, looked, alarms: () => lines.filter(({ alarm }) => alarm === 'clock_skew'), lines };
}

describe('the clocks', () => {
  it('allow claims without an alarm while they agree', async () => {
    const { agree, looked, lines } = over({ database: 4_000, accessRequests: -500 });
    await looked();
    expect(agree()).toBe(true);
    expect(lines).toEqual([]);
  });

  it.each([
    ['the database is ahead', { database: 6_000, accessRequests: 0 }],
    ['the database is behind', { database: -6_000, accessRequests: 0 }],
    ['the access request service is ahead', { database: 0, accessRequests: 6_000 }],
    ['service and database are on either side of ours', { database: -3_000, accessRequests: 3_000 }],
  ])('raise an alarm, but allow claims, when %s by six seconds', async (_, ahead) => {
    const { agree, looked, alarms } = over(ahead);
    await looked();
    expect(agree()).toBe(true);
    expect(alarms()[0]).toMatchObject({ level: WARN, msg: 'the clocks disagree' });
    expect(alarms()[0]?.apartMs).toBe(6_000);
  });

  it.each([
    ['the database is ahead', { database: 31_000, accessRequests: 0 }],
    ['the database is behind', { database: -31_000, accessRequests: 0 }],
    ['the access request service is behind', { database: 0, accessRequests: -31_000 }],
    ['service and database are on either side of ours', { database: -16_000, accessRequests: 16_000 }],
    ['only our own is wrong', { database: -600_000, accessRequests: -600_000 }],
  ])('forbid claims when %s by more than thirty seconds', async (_, ahead) => {
    const { agree, looked, alarms } = over(ahead);
    await looked();
    expect(agree()).toBe(false);
    expect(alarms()[0]).toMatchObject({ level: WARN, msg: expect.stringContaining('claims no call') });
  });

  it('allow claims again once they agree, and log it once', async () => {
    const ahead = { database: 600_000, accessRequests: 600_000 };
    const { agree, looked, lines } = over(ahead);
    await looked();
    expect(agree()).toBe(false);
    ahead.database = 0;
    ahead.accessRequests = 0;
    await waitFor(agree);
    await looked();
    expect(lines.filter(({ msg }) => msg === 'the clocks agree again')).toHaveLength(1);
    expect(lines.at(-1)).toMatchObject({ msg: 'the clocks agree again' });
  });

  it("forbid claims until the database's clock was read", async () => {
    const ahead: Parameters<typeof over>[0] = { accessRequests: 0 };
    const { agree, looked } = over(ahead);
    expect(agree()).toBe(false);
    await looked();
    expect(agree()).toBe(false);
    ahead.database = 0;
    await waitFor(agree);
  });

  it('keep their last reading while no service answers', async () => {
    const ahead: Parameters<typeof over>[0] = { database: 0, accessRequests: 40_000 };
    const { agree, looked } = over(ahead);
    await looked();
    delete ahead.accessRequests;
    delete ahead.database;
    await looked();
    expect(agree()).toBe(false);
  });

  it.each(['no time', undefined] as const)('allow claims when the service reports %s', async (accessRequests) => {
    const { agree, looked } = over({ database: 0, ...(accessRequests && { accessRequests }) });
    await looked();
    expect(agree()).toBe(true);
  });

  it('cannot be read from a slow answer, nor while our own clock is being set', async () => {
    let steps = 2_000;
    let ours = OURS;
    // A second reading of our clock is two seconds later, or an hour earlier.
    const { agree, looked, alarms } = over({ database: 0 }, { now: () => (ours += steps) });
    await looked();
    steps = -3_600_000;
    await looked();
    expect(agree()).toBe(false);
    expect(alarms()).toEqual([]);
  });
});

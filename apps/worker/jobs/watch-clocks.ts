import type { Logger } from 'pino';
import { type Clock, clockOffset, CLOCKS_APART_MS, CLOCKS_TOO_FAR_APART_MS } from '../../shared/clock.ts';
import type { Running } from '../../shared/lifecycle.ts';
import { startRounds } from '../../shared/maintenance/rounds.ts';

/** Other clocks, in milliseconds since 1970. Undefined if the service answered without a time. */
export interface OtherClocks {
  database(): Promise<number>;
  accessRequests(): Promise<number | undefined>;
}

const INTERVAL_MS = 10_000;
/** Until the database's clock was read for the first time. The worker claims no call before. */
const FIRST_INTERVAL_MS = 500;

/**
 * Compares the clocks of the database, the access request service and this process, and raises the alarm `clock_skew` if they
 * disagree. The database's clock alone decides deadlines, so a wrong clock of this process does no harm. But from here it is not
 * clear which clock is wrong: it may be that of the database, or that of the service, which says how long an approval is valid.
 * `agree` is false while the clocks are too far apart.
 */
export function startWatchClocks({
  clocks,
  intervalMs = INTERVAL_MS,
  clock,
  log,
}: {
  readonly clocks: OtherClocks;
  readonly intervalMs?: number;
  readonly clock: Clock;
  readonly log: Logger;
}): Running & { readonly agree: () => boolean } {
  /** Milliseconds that the others are ahead of our clock, as last measured. A failed read does not set a clock right. */
  const ahead: { database?: number; accessRequests?: number } = {};
  let wereApart = false;
  let pauseMs = 0;

  async function measure(which: keyof OtherClocks): Promise<void> {
    try {
      const offset = await clockOffset(() => clocks[which](), clock);
      if (offset !== undefined) ahead[which] = offset;
    } catch (error) {
      log.debug({ err: error, which }, 'a clock could not be read');
    }
  }
  function apartMs(): number {
    const all = [0, ...Object.values(ahead)];
    return Math.max(...all) - Math.min(...all);
  }
  /** The service may report no time. Without the database's time, nothing is known about the clocks. */
  const agree = () => ahead.database !== undefined && apartMs() <= CLOCKS_TOO_FAR_APART_MS;
  const rounds = startRounds({
    ...{ name: 'clocks', clock, log, pauseMs: () => pauseMs },
    async round() {
      await Promise.all([measure('database'), measure('accessRequests')]);
      const { database: databaseAheadMs, accessRequests: accessRequestsAheadMs } = ahead;
      const facts = { apartMs: apartMs(), databaseAheadMs, accessRequestsAheadMs };
      const areApart = facts.apartMs > CLOCKS_APART_MS;
      const consequence = agree() ? '' : '; this worker claims no call until they agree';
      if (areApart) log.warn({ alarm: 'clock_skew', ...facts }, `the clocks disagree${consequence}`);
      else if (wereApart) log.info(facts, 'the clocks agree again');
      wereApart = areApart;
      pauseMs = databaseAheadMs === undefined ? Math.min(FIRST_INTERVAL_MS, intervalMs) : intervalMs;
    },
  });
  return { ...rounds, agree };
}

import type { Logger } from 'pino';
import { type Clock, clockOffset, CLOCKS_APART_MS, CLOCKS_TOO_FAR_APART_MS } from '../../shared/clock.ts';
import type { Running } from '../../shared/lifecycle.ts';
import { startRounds } from '../../shared/maintenance/rounds.ts';

/** The clocks of others, in milliseconds since 1970. `undefined`: it answered, and told no time. */
export interface OtherClocks {
  database(): Promise<number>;
  accessRequests(): Promise<number | undefined>;
}

export interface WatchClocksOptions {
  readonly clocks: OtherClocks;
  readonly intervalMs?: number;
  /** Our own clock. */
  readonly clock: Clock;
  readonly log: Logger;
}

const INTERVAL_MS = 10_000;
/** As long as the database's clock was never read, since nothing is claimed until it was. */
const FIRST_INTERVAL_MS = 500;

/**
 * Holds the clocks of the database, of the access request service and of this process against each other, and raises
 * the alarm `clock_skew` when they disagree. Deadlines are decided by the database's clock alone, so a process whose clock
 * is wrong harms nothing by itself; but from here nobody can tell whether it is not the database's that is, or that of the
 * service, which says until when an approval is good. While they lie too far apart, `agree` says no.
 */
export function startWatchClocks(options: WatchClocksOptions): Running & { readonly agree: () => boolean } {
  const { clocks, intervalMs = INTERVAL_MS, clock, log } = options;
  const comparison = createComparison(clocks, clock, log);
  let wereApart = false;
  let pauseMs = 0;
  const rounds = startRounds({
    ...{ name: 'clocks', clock, log, pauseMs: () => pauseMs },
    async round() {
      await comparison.renew();
      const facts = comparison.facts();
      const areApart = facts.apartMs > CLOCKS_APART_MS;
      const consequence = comparison.agree() ? '' : '; this worker claims no call until they agree';
      if (areApart) log.warn({ alarm: 'clock_skew', ...facts }, `the clocks disagree${consequence}`);
      else if (wereApart) log.info(facts, 'the clocks agree again');
      wereApart = areApart;
      pauseMs = facts.databaseAheadMs === undefined ? Math.min(FIRST_INTERVAL_MS, intervalMs) : intervalMs;
    },
  });
  return { ...rounds, agree: comparison.agree };
}

function createComparison(clocks: OtherClocks, own: Clock, log: Logger) {
  // Ahead of ours by so many milliseconds, as last measured: a clock that cannot be read was not set right by that.
  const ahead: { database?: number; accessRequests?: number } = {};

  async function measure(which: keyof OtherClocks): Promise<void> {
    try {
      const offset = await clockOffset(() => clocks[which](), own);
      if (offset !== undefined) ahead[which] = offset;
    } catch (error) {
      log.debug({ err: error, which }, 'a clock could not be read');
    }
  }
  function apartMs(): number {
    const all = [0, ...Object.values(ahead)];
    return Math.max(...all) - Math.min(...all);
  }
  return {
    renew: () => Promise.all([measure('database'), measure('accessRequests')]),
    facts: () => ({
      apartMs: apartMs(),
      databaseAheadMs: ahead.database,
      accessRequestsAheadMs: ahead.accessRequests,
    }),
    /** The service may tell no time at all; without the database's nothing can be said, so nothing is claimed. */
    agree: () => ahead.database !== undefined && apartMs() <= CLOCKS_TOO_FAR_APART_MS,
  };
}

import type { Logger } from 'pino';
import type { Clock } from '../../shared/clock.ts';
import type { Running } from '../../shared/lifecycle.ts';
import { fewAtATime } from '../../shared/maintenance/few-at-a-time.ts';
import { startRounds } from '../../shared/maintenance/rounds.ts';

export interface ResolutionPollerOptions {
  readonly looks: {
    /** Takes calls whose look is due, at most so many. */
    take(limit: number): Promise<readonly string[]>;
    /** Looks whether the access request of a call was resolved, and wakes its workflow if so. */
    look(gatedCallId: string): Promise<void>;
  };
  readonly intervalMs?: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const INTERVAL_MS = 1_000;
/** In one round. However many calls wait, and after however long an outage, what moves calls on has the machine first. */
const LOOKS = 50;
const AT_ONCE = 4;

/**
 * Looks for resolutions of which no word came, because the callback was lost or the access request service sends none. So
 * a call that waits needs no step of its workflow until there is something to do. Several may run at once.
 */
export function startResolutionPoller({
  looks,
  intervalMs = INTERVAL_MS,
  clock,
  log,
}: ResolutionPollerOptions): Running {
  /** A call that cannot be looked at, now or ever, keeps no other one from being looked at. */
  const look = (gatedCallId: string) =>
    looks
      .look(gatedCallId)
      .catch((error: unknown) => log.error({ gatedCall: gatedCallId, err: error }, 'a look failed'));

  return startRounds({
    ...{ name: 'resolution poller', clock, log, pauseMs: () => intervalMs },
    async round(stop) {
      await fewAtATime(await looks.take(LOOKS), AT_ONCE, look, stop);
    },
  });
}

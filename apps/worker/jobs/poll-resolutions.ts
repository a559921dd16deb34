import type { Logger } from 'pino';
import type { Clock } from '../../shared/clock.ts';
import type { Running } from '../../shared/lifecycle.ts';
import { fewAtATime, startRounds } from '../../shared/maintenance/rounds.ts';

export interface PollResolutionsOptions {
  readonly polls: {
    /** Takes calls whose poll is due, at most so many. */
    take(limit: number): Promise<readonly string[]>;
    /** Asks whether the access request of a call was resolved, and signals its workflow if so. */
    poll(gatedCallId: string): Promise<void>;
  };
  readonly intervalMs?: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const INTERVAL_MS = 1_000;
/** In one round. However many calls wait, and after however long an outage, what moves calls on has the machine first. */
const POLLS = 50;
const AT_ONCE = 4;

/**
 * Asks for resolutions of which no word came, because the callback was lost or the access request service sends none. So a
 * call that waits needs no step of its workflow until there is something to do: were the polls timers of the workflows, each
 * would be a task of the engine, and after an outage thousands of them would come before the calls that can go on. Several
 * workers may poll at once.
 */
export function startPollResolutions({ polls, intervalMs = INTERVAL_MS, clock, log }: PollResolutionsOptions): Running {
  /** A call that cannot be polled, now or ever, keeps no other one from being polled. */
  const poll = (gatedCallId: string) =>
    polls
      .poll(gatedCallId)
      .catch((error: unknown) => log.error({ gatedCall: gatedCallId, err: error }, 'a poll failed'));

  return startRounds({
    ...{ name: 'poll of resolutions', clock, log, pauseMs: () => intervalMs },
    async round(stop) {
      await fewAtATime(await polls.take(POLLS), AT_ONCE, poll, stop);
    },
  });
}

import type { Logger } from 'pino';
import type { Clock } from '../../shared/clock.ts';
import type { Running } from '../../shared/lifecycle.ts';
import { fewAtATime, startRounds } from '../../shared/maintenance/rounds.ts';

const INTERVAL_MS = 1_000;
/** Polls in one round. Few, so that after an outage calls that can go on come before calls that wait. */
const POLLS = 50;
const CONCURRENCY = 4;

/**
 * Asks for resolutions that were not announced: the callback was lost, or the access request service sends none. Polls are not
 * timers of the workflows, since each would be a task of the engine. After an outage, thousands of such tasks would run before
 * the calls that can go on. Several workers may poll at once.
 */
export function startPollResolutions({
  polls,
  intervalMs = INTERVAL_MS,
  clock,
  log,
}: {
  readonly polls: {
    /** Takes at most `limit` calls whose poll is due. */
    take(limit: number): Promise<readonly string[]>;
    /** Asks whether the access request of a call was resolved, and signals its workflow if so. */
    poll(gatedCallId: string): Promise<void>;
  };
  readonly intervalMs?: number;
  readonly clock: Clock;
  readonly log: Logger;
}): Running {
  // A failed poll does not affect the polls of other calls.
  const poll = (gatedCallId: string) =>
    polls
      .poll(gatedCallId)
      .catch((error: unknown) => log.error({ gatedCall: gatedCallId, err: error }, 'a status could not be polled'));
  return startRounds({
    ...{ name: 'poll of resolutions', clock, log, pauseMs: () => intervalMs },
    round: async (stop) => fewAtATime(await polls.take(POLLS), CONCURRENCY, poll, stop),
  });
}

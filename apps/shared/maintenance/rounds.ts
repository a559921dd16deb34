import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Running } from '../lifecycle.ts';

export interface Rounds {
  /** What does the rounds, in lower case: for the log and for errors. */
  readonly name: string;
  /** Milliseconds before the next round, the first one included. */
  readonly pauseMs: () => number;
  /** One round. Gives up soon after the signal. */
  readonly round: (stop: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Does rounds, one after the other, until stopped; a stop waits for the one under way. One that fails keeps no other from being done. */
export function startRounds({ name, pauseMs, round, clock, log }: Rounds): Running {
  const stopping = new AbortController();
  const { signal } = stopping;
  const going = (async () => {
    for (;;) {
      await clock.after(pauseMs(), signal);
      if (signal.aborted) return;
      await round(signal).catch((error: unknown) =>
        log.error({ err: error }, `a round of the ${name} failed; the next one tries again`),
      );
    }
  })();
  return {
    name,
    async stop() {
      stopping.abort();
      await going;
    },
  };
}

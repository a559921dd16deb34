import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Running } from '../lifecycle.ts';

interface Rounds {
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

/**
 * Does something with each of many, so many at the same moment; begins no more of them after the signal. `act` may not
 * throw where one must keep no other from its turn.
 */
export async function fewAtATime<T>(
  all: readonly T[],
  atOnce: number,
  act: (one: T) => Promise<unknown>,
  stop?: AbortSignal,
): Promise<void> {
  for (let at = 0; at < all.length && stop?.aborted !== true; at += atOnce) {
    await Promise.all(all.slice(at, at + atOnce).map(act));
  }
}

const EVERY_MS = 10 * 60_000;
const BATCH = 100;

interface Forgetting {
  /** What is forgotten, in the plural: for the log. */
  readonly of: string;
  /** Forgets at most so many that are kept no longer, and answers how many. */
  readonly forget: (limit: number) => Promise<number>;
  /** Milliseconds before the first round, and between two. */
  readonly everyMs?: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Forgets what is kept no longer, in small steps. Nothing depends on when: what is past its time is not used. */
export function startForgetting({ of, forget, everyMs = EVERY_MS, clock, log }: Forgetting): Running {
  return startRounds({
    name: `forgetting of ${of}`,
    pauseMs: () => everyMs,
    round: async (stop) => {
      while (!stop.aborted && (await forget(BATCH)) === BATCH);
    },
    clock,
    log,
  });
}

import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { logRepeated } from '../logger.ts';
import type { Running } from '../lifecycle.ts';

interface Rounds {
  /** Name of the job, in lower case: for the log and for errors. */
  readonly name: string;
  /** Milliseconds before the next round, also before the first one. */
  readonly pauseMs: () => number;
  /** Has to end soon after the signal. */
  readonly round: (stop: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Runs rounds, one after the other, until stopped, also after a failed one. A stop waits for the current round. */
export function startRounds({ name, pauseMs, round, clock, log }: Rounds): Running {
  const stopping = new AbortController();
  const { signal } = stopping;
  const going = (async () => {
    for (;;) {
      await clock.after(pauseMs(), signal);
      if (signal.aborted) return;
      await round(signal).catch((error: unknown) =>
        logRepeated(log, error, `a round of the ${name} failed; the next one tries again`, 'error'),
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

/** Calls `act` for each item, `atOnce` at the same time, until the signal. If one call throws, no further ones begin. */
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
  /** The kind of rows, in the plural: for the log. */
  readonly of: string;
  /** Deletes at most so many expired rows, and returns how many. */
  readonly forget: (limit: number) => Promise<number>;
  /** Milliseconds before the first round, and between two rounds. */
  readonly everyMs?: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Deletes expired rows in small steps. The time of deletion does not matter, because expired rows are not used. */
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

import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Running } from '../lifecycle.ts';
import { startRounds } from './rounds.ts';

const EVERY_MS = 10 * 60_000;
const BATCH = 100;

export interface Forgetting {
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

import { systemClock } from '../../shared/clock.ts';
import type { Running } from '../../shared/lifecycle.ts';
import type { Limits } from '../../shared/limits.ts';
import type { Parts } from './up-parts.ts';

/** Of the time of a stop: calls in flight get the first part; what is left after both is for the end of the process. */
const DRAIN = 0.5;
const LEAVE = 0.48;

/**
 * Stops everything within `stopMs` of the limits: first all that serves, so that work in flight can finish on what it stands on;
 * then Temporal, PostgreSQL and the upstreams. Answers the names of what did not stop cleanly.
 */
export async function stopEverything({ serving, standing }: Parts, { stopMs }: Limits): Promise<string[]> {
  const unclean: string[] = [];
  await stopTogether(serving, stopMs * DRAIN, unclean);
  await stopTogether(standing, stopMs * LEAVE, unclean);
  return unclean;
}

async function stopTogether(parts: readonly Running[], withinMs: number, unclean: string[]): Promise<void> {
  const waiting = new Set(parts.map(({ name }) => name));
  const stopping = parts.map(async (part) => {
    try {
      await part.stop();
    } catch {
      unclean.push(part.name);
    }
    waiting.delete(part.name);
  });
  const over = new AbortController();
  await Promise.race([Promise.all(stopping), systemClock.after(withinMs, over.signal)]);
  over.abort();
  unclean.push(...waiting);
}

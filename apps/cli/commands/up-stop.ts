import { setTimeout as pause } from 'node:timers/promises';
import type { Running } from '../../shared/lifecycle.ts';
import type { Parts } from './up-parts.ts';

/** Calls in flight get this long; the rest of the five seconds is for the servers below. */
const DRAIN_MS = 2_500;
const LEAVE_MS = 4_900;

/**
 * Stops everything within five seconds: first all that serves, so that work in flight can finish on what it stands on;
 * then Temporal, PostgreSQL and the upstreams. Answers the names of what did not stop cleanly.
 */
export async function stopEverything({ serving, standing }: Parts): Promise<string[]> {
  const unclean: string[] = [];
  await stopTogether(serving, DRAIN_MS, unclean);
  await stopTogether(standing, LEAVE_MS - DRAIN_MS, unclean);
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
  await Promise.race([Promise.all(stopping), pause(withinMs, undefined, { ref: false })]);
  unclean.push(...waiting);
}

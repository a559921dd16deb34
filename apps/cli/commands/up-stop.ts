import type { Running } from '../../shared/lifecycle.ts';
import type { Timing } from '../../shared/limits.ts';

/** The parts that have started. Services stop first, and their infrastructure stops last. */
export interface Parts {
  readonly serving: Running[];
  readonly infrastructure: Running[];
}

/**
 * Stops first the services, so that work in flight can finish, and then Temporal, PostgreSQL and the upstreams. Each of the two has
 * `stopMs` of the limits, as in a process of its own. Returns the names of the parts that did not stop cleanly.
 */
export async function stopEverything({ serving, infrastructure }: Parts, timing: Timing): Promise<string[]> {
  return [...(await stopTogether(serving, timing)), ...(await stopTogether(infrastructure, timing))];
}

async function stopTogether(parts: readonly Running[], { clock, limits }: Timing): Promise<string[]> {
  const unclean = new Set(parts.map(({ name }) => name));
  const stopping = parts.map(async (part) => {
    await part.stop();
    unclean.delete(part.name);
  });
  const over = new AbortController();
  await Promise.race([Promise.allSettled(stopping), clock.after(limits.stopMs, over.signal)]);
  over.abort();
  return [...unclean];
}

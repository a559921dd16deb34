import type { Logger } from 'pino';
import type { Running } from '../../shared/lifecycle.ts';

/** What the sweeper needs of the stored calls. */
export interface DueCalls {
  /** Calls past the deadline of their state. */
  due(limit: number): Promise<string[]>;
  /** Creations that got no handle for this long, and that nobody has the right to submit now. */
  abandoned(olderThanMs: number, limit: number): Promise<string[]>;
  expire(gatedCallId: string): Promise<unknown>;
  /** Forgets what calls past their retention consisted of. */
  forget(limit: number): Promise<number>;
  /** Puts data keys under the current key of the configuration; answers how many. */
  rewrap(limit: number): Promise<number>;
  end(gatedCallId: string, to: 'cancelled', reason: 'abandoned', cause: 'sweeper'): Promise<unknown>;
}

const BATCH = 200;

/**
 * Carries deadlines out, whether or not Temporal and the workflows are there. Several may run at once: each end is
 * decided by the row's lock.
 */
export function startSweeper(options: {
  calls: DueCalls;
  intervalMs: number;
  abandonAfterMs: number;
  log: Logger;
}): Running {
  const { calls, log } = options;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let sweeping: Promise<void> = Promise.resolve();

  async function sweep(): Promise<void> {
    for (const id of await calls.due(BATCH)) await one(id, calls.expire(id));
    for (const id of await calls.abandoned(options.abandonAfterMs, BATCH)) {
      await one(id, calls.end(id, 'cancelled', 'abandoned', 'sweeper'));
    }
    await calls.forget(BATCH);
    const rewrapped = await calls.rewrap(BATCH);
    if (rewrapped > 0) log.info({ rewrapped }, 'data keys were put under the current sealing key');
  }
  /** A call that cannot be ended, now or ever, keeps no other one from its end. */
  async function one(gatedCallId: string, ended: Promise<unknown>): Promise<void> {
    await ended.catch((error: unknown) => log.error({ gatedCallId, err: error }, 'a call could not be ended'));
  }
  function schedule(): void {
    if (stopped) return;
    timer = setTimeout(() => {
      sweeping = sweep()
        .catch((error: unknown) => log.error({ err: error }, 'a sweep failed; the next one tries again'))
        .finally(schedule);
    }, options.intervalMs);
  }
  schedule();

  return {
    name: 'sweeper',
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await sweeping;
    },
  };
}

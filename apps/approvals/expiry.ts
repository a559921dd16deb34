import type { Logger } from 'pino';
import type { Clock } from '../shared/clock.ts';
import type { Running } from '../shared/lifecycle.ts';
import type { AccessRequestStore } from './stores/access-request.store.ts';

const EVERY_MS = 5_000;
const BATCH = 100;

export interface ExpiryOptions {
  readonly store: Pick<AccessRequestStore, 'expireDue'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Ends requests that nobody resolved in time, so that whoever waits is told. Nothing depends on it for being right: a
 * request past its deadline is ended whenever somebody reads it or votes on it. Needs no engine.
 */
export function startExpiry({ store, clock, log }: ExpiryOptions): Running {
  let sweep: Promise<void> | undefined;
  const start = () => {
    sweep ??= sweepAll(store, log).finally(() => {
      sweep = undefined;
    });
  };
  const stopStarting = clock.every(EVERY_MS, start);
  return {
    name: 'expiry of access requests',
    async stop() {
      stopStarting();
      await sweep;
    },
  };
}

async function sweepAll(store: Pick<AccessRequestStore, 'expireDue'>, log: Logger): Promise<void> {
  try {
    while ((await store.expireDue(BATCH)) === BATCH);
  } catch (err) {
    log.warn({ err }, 'requests past their deadline could not be ended; trying again');
  }
}

import type { Logger } from 'pino';
import type { Running } from '../../shared/lifecycle.ts';
import { startRounds } from '../../shared/maintenance/rounds.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';

const EVERY_MS = 1_000;
const BATCH = 100;

export interface CarryOutDueOptions {
  readonly store: Pick<AccessRequestStore, 'carryOutDue'>;
  /** Milliseconds between two rounds; a second when not given. */
  readonly everyMs?: number;
  readonly log: Logger;
}

/**
 * Does what is due by the clock alone: ends requests and stages past their deadline, and notes reminders. A deadline does not depend on
 * it: a request past it is ended whenever it is read or voted on. Any number of processes may do this at once.
 */
export function startCarryingOutDue({ store, everyMs = EVERY_MS, log }: CarryOutDueOptions): Running {
  return startRounds({
    name: 'deadlines and reminders of access requests',
    pauseMs: () => everyMs,
    async round(stop) {
      try {
        while (!stop.aborted && (await store.carryOutDue(BATCH)) === BATCH);
      } catch (err) {
        log.warn({ err }, 'deadlines and reminders could not be carried out; trying again');
      }
    },
    log,
  });
}

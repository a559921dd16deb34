import type { Logger } from 'pino';
import type { Clock } from '../../shared/clock.ts';
import type { Running } from '../../shared/lifecycle.ts';
import { startRounds } from '../../shared/maintenance/rounds.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';

const EVERY_MS = 1_000;
const BATCH = 100;

export interface CarryOutDueOptions {
  readonly store: Pick<AccessRequestStore, 'carryOutDue'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Does what is due by the clock alone: ends requests and stages past their deadline, and notes reminders. A deadline does not depend on
 * it: a request past it is ended whenever it is read or voted on. Any number of processes may do this at once.
 */
export function startCarryingOutDue({ store, clock, log }: CarryOutDueOptions): Running {
  /** One batch. Answers how many were carried out. What failed is due again in the next round. */
  const carryOut = async () => {
    const due = await store.carryOutDue(BATCH);
    const failed = due.filter(({ failure }) => failure !== null);
    for (const { id, failure } of failed)
      log.warn({ accessRequest: id, why: failure }, 'what is due of a request could not be carried out; trying again');
    return due.length - failed.length;
  };
  return startRounds({
    name: 'deadlines and reminders of access requests',
    pauseMs: () => EVERY_MS,
    async round(stop) {
      try {
        while (!stop.aborted && (await carryOut()) === BATCH);
      } catch (err) {
        log.warn({ err }, 'deadlines and reminders could not be carried out; trying again');
      }
    },
    ...{ clock, log },
  });
}

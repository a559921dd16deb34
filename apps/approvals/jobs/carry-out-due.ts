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
 * Ends requests and stages past their deadlines and records due reminders. Deadlines also hold without this job: reading or voting on a
 * request ends it first if it is overdue. Any number of processes may run it at once.
 */
export function startCarryingOutDue({ store, clock, log }: CarryOutDueOptions): Running {
  /** Returns how many requests of one batch succeeded. The others are due again later. */
  const carryOut = async () => {
    const due = await store.carryOutDue(BATCH);
    const failed = due.filter(({ failure }) => failure !== null);
    for (const { id, failure } of failed)
      log.warn(
        { accessRequest: id, why: failure },
        'a deadline or reminder of an access request was not carried out; the next attempt comes within a minute',
      );
    return due.length - failed.length;
  };
  return startRounds({
    name: 'deadlines and reminders of access requests',
    pauseMs: () => EVERY_MS,
    async round(stop) {
      while (!stop.aborted && (await carryOut()) === BATCH);
    },
    ...{ clock, log },
  });
}

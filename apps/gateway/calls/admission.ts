import { AsyncLocalStorage } from 'node:async_hooks';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Timing } from '../../shared/limits.ts';

/** Calls of tools that one process decides on and records at once. */
const CALLS_AT_ONCE = 32;
/** Calls that wait for one of these to get out of the way. */
const MOST_WAITING = 512;

interface Visit {
  enter(): Promise<boolean>;
  leave(): void;
}
const visit = new AsyncLocalStorage<Visit>();

/** Before the call costs a decision or a connection to the database. Throws `ERR_GATEWAY_UNAVAILABLE` if it is turned away. */
export async function enterAdmission(): Promise<void> {
  if ((await visit.getStore()?.enter()) === false)
    throw new CountersignError('ERR_GATEWAY_UNAVAILABLE', 'too many calls are decided on at once');
}

/** The call is decided on and recorded. From now on it waits for its tool, or for its end, and takes no one's room. */
export const leaveAdmission = (): void => visit.getStore()?.leave();

export type Admission = ReturnType<typeof createAdmission>;

/**
 * The door for calls of tools. More calls than the machine can handle would wait for each other until all of them fail. So a call that
 * cannot be taken up soon is turned away, and the others keep their pace.
 */
export function createAdmission(time: Timing) {
  const room = createRoom(time);
  return {
    /**
     * Serves a request. Resolves to `undefined` if a call in it was turned away. A stream that began before is its own answer: then the
     * calls on it have an error each. A call leaves by itself, because a stream goes on after it was handed back.
     */
    async serve<T>(request: () => Promise<T>): Promise<T | undefined> {
      let isInside = false;
      /** One answer for all calls of a batch: the room turns no call away after another one of the batch has run. */
      let entered: Promise<boolean> | undefined;
      const one: Visit = {
        enter() {
          entered ??= room.enter().then((isAdmitted) => (isInside = isAdmitted));
          return entered;
        },
        leave() {
          if (isInside) room.leave();
          isInside = false;
        },
      };
      const answer = await visit.run(one, request);
      return (await entered) === false ? undefined : answer;
    },
  };
}

function createRoom({ clock, limits }: Timing) {
  const waiting = new Set<(isAdmitted: boolean) => void>();
  let inside = 0;
  return {
    async enter(): Promise<boolean> {
      if (inside < CALLS_AT_ONCE) {
        inside += 1;
        return true;
      }
      if (waiting.size >= MOST_WAITING) return false;
      return new Promise((resolve) => {
        const end = (isAdmitted: boolean) => {
          stop();
          waiting.delete(end);
          if (isAdmitted) inside += 1;
          resolve(isAdmitted);
        };
        const stop = clock.once(limits.admissionMs, () => end(false));
        waiting.add(end);
      });
    },
    leave(): void {
      inside -= 1;
      const [next] = waiting;
      next?.(true);
    },
  };
}

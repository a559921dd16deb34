import type { Cancel, Clock } from '../apps/shared/clock.ts';
import { INVOCATIONS_AT_ONCE } from '../workflows/activity-ports.ts';
import type { ActivityDeps } from './step.ts';

/** How long a call waits for a place within its step, in milliseconds. */
const WAIT_MS = 5_000;
/** A call that gets no place comes again after between these, in milliseconds. */
const AGAIN_MIN_MS = 100;
const AGAIN_MAX_MS = 30_000;
/** Between two calls that leave their places, in milliseconds, until it is measured; and the longest measurement that counts. */
const FIRST_PACE_MS = 250;
const LONGEST_PACE_MS = 5_000;

export type Places = ReturnType<typeof createPlaces>;

/**
 * The places on the way from the decision to the permit to send. A call takes its place before policy is asked, and leaves it with
 * its permit. So a process claims no more calls than it can send, however many are approved: a claimed call that waits cannot be
 * cancelled, and its decision gets old. As many calls as there are places wait here. Each further one is told when its turn
 * comes, and waits in the engine, where waiting costs nothing.
 */
export function createPlaces({ clock, limits, settings }: Pick<ActivityDeps, 'clock' | 'limits' | 'settings'>) {
  const turns = createTurns(clock);
  let underWay = 0;
  const room = createRoom(clock, {
    places: settings.claimsAtOnce,
    isOpen: (taken) => taken + underWay < INVOCATIONS_AT_ONCE,
    onLeft: () => turns.left(),
  });
  return {
    /** Takes the step with a place, or answers the wait in milliseconds. A claimed call keeps the place for the step that sends it. */
    async within<T extends { readonly kind: string }>(
      id: string,
      step: () => Promise<T>,
      later: (waitMs: number) => T,
    ): Promise<T> {
      if (!(await room.enter(id))) return later(turns.next());
      let isClaimed = false;
      try {
        const answer = await step();
        isClaimed = answer.kind === 'claimed';
        return answer;
      } finally {
        // Another process may send it: then it has no place here.
        if (isClaimed)
          room.stay(
            id,
            clock.once(limits.claimHandOverMs, () => room.leave(id)),
          );
        else room.leave(id);
      }
    },
    /** Runs the step that sends a claimed call. */
    async sending(id: string, step: () => Promise<void>): Promise<void> {
      underWay += 1;
      if (room.has(id)) room.stay(id);
      try {
        await step();
      } finally {
        underWay -= 1;
        room.leave(id);
      }
    },
    /** The call has its permit, or gets none. */
    leave: room.leave,
  };
}

interface Room {
  readonly places: number;
  /** Whether one more may enter beside so many. */
  readonly isOpen: (taken: number) => boolean;
  readonly onLeft: () => void;
}

/** A room with places. As many calls as it has places wait at its door, for some seconds. */
function createRoom(clock: Clock, { places, isOpen, onLeft }: Room) {
  /** The calls that have a place, and what to do when one leaves it. */
  const taken = new Map<string, Cancel>();
  const waiting = new Set<(hasPlace: boolean) => void>();
  const isFree = () => taken.size < places && isOpen(taken.size);

  function stay(id: string, onLeave: Cancel = () => undefined): void {
    taken.get(id)?.();
    taken.set(id, onLeave);
  }
  function leave(id: string): void {
    taken.get(id)?.();
    if (taken.delete(id)) onLeft();
    const [next] = waiting;
    if (next !== undefined && isFree()) next(true);
  }
  const wait = (id: string): Promise<boolean> =>
    new Promise((resolve) => {
      const end = (hasPlace: boolean) => {
        stop();
        waiting.delete(end);
        // At once: another one may look before the promise is read.
        if (hasPlace) stay(id);
        resolve(hasPlace);
      };
      const stop = clock.once(WAIT_MS, () => end(false));
      waiting.add(end);
    });

  return {
    has: (id: string) => taken.has(id),
    /** Resolves to whether the call has a place. */
    async enter(id: string): Promise<boolean> {
      if (taken.has(id)) return true;
      if (waiting.size > 0 || !isFree()) return waiting.size < places && wait(id);
      stay(id);
      return true;
    },
    /** Keeps the place. `onLeave` runs once, when the call leaves it or keeps it anew. */
    stay,
    leave,
  };
}

/** Turns for those without a place, one after another at the pace at which places become free. */
function createTurns(clock: Clock) {
  let paceMs = FIRST_PACE_MS;
  let leftAt = clock.monotonicMs();
  let lastTurn = leftAt;
  return {
    left(): void {
      const now = clock.monotonicMs();
      paceMs += (Math.min(now - leftAt, LONGEST_PACE_MS) - paceMs) / 10;
      leftAt = now;
    },
    /** Milliseconds until the next free turn. */
    next(): number {
      const now = clock.monotonicMs();
      lastTurn = Math.min(Math.max(lastTurn, now) + paceMs, now + AGAIN_MAX_MS);
      return Math.max(AGAIN_MIN_MS, Math.ceil(lastTurn - now));
    },
  };
}

import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { CountersignError, type ErrorCode } from '../../workflows/domain/errors.ts';

/**
 * What becomes of one call of a port: it may be done or not, and whoever made it may hear the truth, hear that it failed,
 * or not be there any more.
 */
export type Fate = 'done' | 'fails' | 'done, told failed' | 'crash before' | 'crash after';

/** Stands for a process that is gone. Nothing in the product knows this error, so nothing can act on it. */
class ProcessGone extends Error {}

/** One thing under way, from its start to its end or its process's. */
export interface Fiber {
  readonly name: string;
  /** A call of a port: it waits until the scheduler lets it happen, in whichever way. */
  step<T>(label: string, work: () => Promise<T>, failure: ErrorCode): Promise<T>;
  /** Ends it here, as if its client had hung up. */
  leave(): never;
}

interface Waiting {
  readonly fiber: FiberState;
  readonly label: string;
  release(fate: Fate): Promise<void>;
}
interface FiberState {
  readonly name: string;
  isGone: boolean;
  isOver: boolean;
}

export type Scheduler = ReturnType<typeof createScheduler>;

/**
 * Lets one port call happen at a time, of all that wait at any moment, so that an order of things is a list of choices and
 * can be had again. Everything in between is code that waits for nothing else.
 */
export function createScheduler(note: (line: string) => void) {
  const waiting: Waiting[] = [];
  const faults: string[] = [];
  let running = 0;

  function stepOf(fiber: FiberState): Fiber['step'] {
    return (label, work, failure) =>
      new Promise((resolve, reject) => {
        const release = async (fate: Fate) => {
          waiting.splice(waiting.indexOf(entry), 1);
          if (fate !== 'done') faults.push(`${fate}: ${label}`);
          note(`${fiber.name}: ${label}${fate === 'done' ? '' : ` (${fate})`}`);
          if (fiber.isGone) return reject(new ProcessGone());
          if (fate === 'fails') return reject(new CountersignError(failure, 'not there'));
          if (fate !== 'crash before') {
            const outcome = await work().then(
              (value) => () => resolve(value),
              (error: unknown) => () => reject(error instanceof Error ? error : new Error(String(error))),
            );
            if (fate === 'done') return outcome();
            if (fate === 'done, told failed') return reject(new CountersignError(failure, 'no answer came'));
          }
          await end(fiber, reject);
        };
        const entry: Waiting = { fiber, label, release };
        waiting.push(entry);
      });
  }

  /** The process is gone, and with it whatever else it had under way. */
  async function end(fiber: FiberState, reject: (error: Error) => void) {
    fiber.isGone = true;
    reject(new ProcessGone());
    for (const other of waiting.filter((one) => one.fiber === fiber)) await other.release('done');
  }

  return {
    faults,
    /** Begins something. How it ends is known to whoever began it; a failure of the product is a finding, a crash is not. */
    start<T>(
      name: string,
      run: (fiber: Fiber) => Promise<T>,
      onEnd: (end: { value: T } | { error: unknown }) => void,
    ): void {
      const state: FiberState = { name, isGone: false, isOver: false };
      running += 1;
      const leave = (): never => {
        state.isGone = true;
        throw new ProcessGone();
      };
      run({ name, step: stepOf(state), leave })
        .then(
          (value) => onEnd({ value }),
          (error: unknown) => (error instanceof ProcessGone ? undefined : onEnd({ error })),
        )
        .finally(() => {
          running -= 1;
          state.isOver = true;
        });
    },
    /** Waits until everything that runs has come to a port call, and says how many of those wait. */
    async settled(): Promise<number> {
      await nextTurn();
      return waiting.length;
    },
    /** Lets one of the waiting calls happen. */
    async release(index: number, fate: Fate): Promise<void> {
      const one = waiting[index];
      if (one === undefined) return;
      await one.release(fate);
      await nextTurn();
      // Some failures are tried again after a pause by the clock. Nothing else happens meanwhile, or the order of things
      // would be the clock's.
      while (!one.fiber.isOver && !waiting.some(({ fiber }) => fiber === one.fiber)) await pause(1);
    },
    labelAt: (index: number) => waiting[index]?.label,
    isIdle: () => running === 0,
  };
}

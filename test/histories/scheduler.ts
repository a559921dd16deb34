import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { CountersignError, type ErrorCode } from '../../workflows/domain/errors.ts';

/**
 * The fate of one call of a port: it may be done or not, and its caller may hear the truth, hear that it failed, or be
 * gone.
 */
export type Fate = 'done' | 'fails' | 'done, told failed' | 'crash before' | 'crash after';

/** Stands for a process that is gone. The product does not know this error, so it cannot act on it. */
class ProcessGone extends Error {}

/** One operation, from its start to its end or to the end of its process. */
export interface Fiber {
  readonly name: string;
  /** A call of a port: it waits until the scheduler lets it happen, with any fate. */
  step<T>(label: string, work: () => Promise<T>, failure: ErrorCode): Promise<T>;
  /** Ends the operation here, as if its client had hung up. */
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
 * Lets one of all waiting port calls happen at a time, so that an order of events is a list of choices and can be
 * repeated. The code in between waits for nothing else.
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

  /** The process is gone, and with it everything else it was doing. */
  async function end(fiber: FiberState, reject: (error: Error) => void) {
    fiber.isGone = true;
    reject(new ProcessGone());
    for (const other of waiting.filter((one) => one.fiber === fiber)) await other.release('done');
  }

  return {
    faults,
    /** Begins an operation. Its beginner learns how it ends; a failure of the product is a finding, a crash is not. */
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
    /** Waits until every running operation has come to a port call, and answers how many of those wait. */
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
      // Some failures are tried again after a pause by the clock. Nothing else happens meanwhile, or the clock would
      // decide the order of events.
      while (!one.fiber.isOver && !waiting.some(({ fiber }) => fiber === one.fiber)) await pause(1);
    },
    labelAt: (index: number) => waiting[index]?.label,
    isIdle: () => running === 0,
  };
}

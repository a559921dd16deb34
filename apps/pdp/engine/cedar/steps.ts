import { setImmediate } from 'node:timers/promises';

/** Work in steps that are short enough for a process that answers requests meanwhile. */
export type Steps<T> = Generator<undefined, T>;

/** Does all steps at once. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Lets the process do other work after every step. */
export async function stepByStep<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await setImmediate();
  }
}

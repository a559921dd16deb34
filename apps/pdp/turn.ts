import { setImmediate } from 'node:timers/promises';

let turn: Promise<void> | undefined;

/**
 * Settles when all that has arrived by now is read. Whoever waits in the same turn goes on one right after the other, in the order of asking.
 *
 * So under load requests are read together, decided together and answered together. Each of the three has more code and data than a
 * processor keeps close to itself: taken by turns for each request, they push one another out, and the evaluation alone takes half as long again.
 */
export function whenAllIsRead(): Promise<void> {
  turn ??= setImmediate().then(() => {
    turn = undefined;
  });
  return turn;
}

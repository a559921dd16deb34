import type { Clock } from './clock.ts';

/** Clocks that lie further apart than this are worth a word to the operator. Milliseconds. */
export const CLOCKS_APART_MS = 5_000;
/** Clocks that lie further apart than this show that one of them is wrong: no call is claimed. Milliseconds. */
export const CLOCKS_TOO_FAR_APART_MS = 30_000;

/** Half of it bounds the error of a measurement, so an answer that took longer says too little. */
const LONGEST_ROUND_TRIP_MS = 1_000;

/**
 * By how many milliseconds another clock is ahead of ours, half a round trip taken off. `undefined` when the answer has no time
 * in it, when it took longer than a second, and when our own clock was set meanwhile. Rejects as `read` does.
 *
 * @param read Asks the other clock. Milliseconds since 1970.
 * @param clock Our own clock.
 */
export async function clockOffset(
  read: () => Promise<number | undefined>,
  clock: Pick<Clock, 'now'>,
): Promise<number | undefined> {
  const asked = clock.now();
  const there = await read();
  const tookMs = clock.now() - asked;
  if (there === undefined || tookMs < 0 || tookMs > LONGEST_ROUND_TRIP_MS) return undefined;
  return Math.round(there - (asked + tookMs / 2));
}

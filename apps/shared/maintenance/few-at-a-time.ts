/**
 * Does something with each of many, so many at the same moment; begins no more of them after the signal. `act` may not
 * throw where one must keep no other from its turn.
 */
export async function fewAtATime<T>(
  all: readonly T[],
  atOnce: number,
  act: (one: T) => Promise<unknown>,
  stop?: AbortSignal,
): Promise<void> {
  for (let at = 0; at < all.length && stop?.aborted !== true; at += atOnce) {
    await Promise.all(all.slice(at, at + atOnce).map(act));
  }
}

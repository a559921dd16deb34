import type { Cancel, Clock } from '../../../apps/shared/clock.ts';

const BACKOFF_MIN_MS = 500;
const BACKOFF_MAX_MS = 30_000;
/** Callers are refused at once for this long after a failed attempt, so that a broken server is not started per call. */
const FAIL_FAST_MS = 1_000;
/** A connection that lived this long was a good one: the next failure starts the pauses afresh. */
const STABLE_MS = 30_000;

/**
 * Schedules connection attempts to an upstream that could not be connected, or was lost: after pauses that get longer.
 *
 * @param connect Never rejects.
 */
export function scheduleAttempts(connect: () => Promise<unknown>, clock: Clock) {
  let failures = 0;
  let failedAt = Number.NEGATIVE_INFINITY;
  let cancel: Cancel | undefined;
  const stop = () => cancel?.();
  return {
    stop,
    /** Whether it is too early for another attempt. */
    hasJustFailed: () => clock.monotonicMs() - failedAt < FAIL_FAST_MS,

    /** An attempt failed. Answers whether it is the first one in a row. */
    failed(): boolean {
      failedAt = clock.monotonicMs();
      return failures === 0;
    },

    /** A connection was lost that was good since this instant of the monotonic clock. */
    lost(since: number): void {
      if (clock.monotonicMs() - since > STABLE_MS) failures = 0;
    },

    later(): void {
      const pauseMs = Math.max(FAIL_FAST_MS, BACKOFF_MIN_MS * 2 ** Math.min(failures, 10));
      failures += 1;
      stop();
      cancel = clock.once(Math.min(BACKOFF_MAX_MS, pauseMs), () => void connect());
    },
  };
}

/** Waits for a promise to settle, but not longer than this. Answers whether it was fulfilled. */
export function atMost(promise: Promise<unknown>, ms: number, clock: Pick<Clock, 'once'>): Promise<boolean> {
  return new Promise((resolve) => {
    const stop = clock.once(ms, () => resolve(false));
    const settled = (isFulfilled: boolean) => {
      stop();
      resolve(isFulfilled);
    };
    promise.then(
      () => settled(true),
      () => settled(false),
    );
  });
}

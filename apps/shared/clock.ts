import { setTimeout as pause } from 'node:timers/promises';

/** Ends a timer. Has no effect after the timer fired. */
export type Cancel = () => void;

/**
 * The product's only source of time and timers, which a process gets from its `main.ts`, so that a test can move time. All durations are in
 * milliseconds, and at most the longest that a timer can run (24.8 days).
 */
export interface Clock {
  /** Milliseconds since 1970. An operator may set this clock, also back: never measure a duration with it. */
  now(): number;
  /** Milliseconds since an arbitrary instant. Never goes back: measure durations with it. */
  monotonicMs(): number;
  /** Resolves after this long, or as soon as the signal fires or has fired. Never rejects. Keeps the process running. */
  after(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `act` once, after this long. Does not keep the process running. */
  once(ms: number, act: () => void): Cancel;
  /** Calls `act` repeatedly, with this interval. Does not keep the process running. */
  every(ms: number, act: () => void): Cancel;
  /** Fires after this long, with a `TimeoutError`. Does not keep the process running. */
  signalAfter(ms: number): AbortSignal;
}

interface TimeLimit {
  readonly signal: AbortSignal;
  /** Releases the timer and the other signals. Call it when the signal is no longer needed. */
  readonly end: Cancel;
}

/**
 * Aborts after this long, in milliseconds, with a `TimeoutError`; or as soon as one of `others` aborts, with its reason. Use it instead of
 * `AbortSignal.any`, which in Node.js 20 loses a timeout at a garbage collection.
 */
export function timeLimit(clock: Pick<Clock, 'once'>, ms: number, ...others: readonly AbortSignal[]): TimeLimit {
  const controller = new AbortController();
  const cancel = clock.once(ms, () => controller.abort(new DOMException('it took too long', 'TimeoutError')));
  const stop = () => controller.abort(others.find(({ aborted }) => aborted)?.reason);
  const end = () => {
    cancel();
    for (const other of others) other.removeEventListener('abort', stop);
  };
  for (const other of others) other.addEventListener('abort', stop, { once: true });
  controller.signal.addEventListener('abort', end, { once: true });
  if (others.some(({ aborted }) => aborted)) stop();
  return { signal: controller.signal, end };
}

/** Rejects when the signal fires first, or has fired already. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(new Error('aborted'));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
    promise.catch(() => undefined);
  }
}

/** The longest timer of Node. A longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;
const timerMs = (ms: number) => Math.min(Math.max(Math.floor(ms), 0), LONGEST_MS);

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (ms, signal) => pause(timerMs(ms), undefined, { signal }).catch(() => undefined),
  once(ms, act) {
    const timer = setTimeout(act, timerMs(ms)).unref();
    return () => clearTimeout(timer);
  },
  every(ms, act) {
    const timer = setInterval(act, timerMs(ms)).unref();
    return () => clearInterval(timer);
  },
  signalAfter: (ms) => AbortSignal.timeout(timerMs(ms)),
};

/** A larger difference between two clocks is reported to the operator. Milliseconds. */
export const CLOCKS_APART_MS = 5_000;
/** With a larger difference, one of the clocks is wrong, and no call is claimed. Milliseconds. */
export const CLOCKS_TOO_FAR_APART_MS = 30_000;

/** Half of the round trip bounds the error of a measurement, so longer ones are too inexact. */
const LONGEST_ROUND_TRIP_MS = 1_000;

/**
 * By how many milliseconds another clock is ahead of ours, corrected by half a round trip. `undefined` when the answer has no time, when
 * it took longer than a second, and when our own clock was set meanwhile. Rejects as `read` does.
 *
 * @param read Asks the other clock. Milliseconds since 1970.
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

/** Ends a timer before it fires. Does nothing when it has fired or was ended. */
export type Cancel = () => void;

/**
 * Time, as the product knows it. A process gets its clock from its `main.ts` and hands it on; nothing else reads the time or sets a
 * timer, so a test can move time by itself. All durations are in milliseconds; what takes longer than a timer can run (24.8 days)
 * ends after that.
 */
export interface Clock {
  /** Milliseconds since 1970, by the clock on the wall. An operator may set that clock, also back: no duration is measured by it. */
  now(): number;
  /** Milliseconds since an instant of no meaning. Never goes back: durations are differences of it. */
  monotonicMs(): number;
  /** Resolves after this long, or as soon as the signal fires; at once when it has fired. Never rejects. Keeps the process running. */
  after(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `act` once, after this long. A process that has nothing else to do ends before. */
  once(ms: number, act: () => void): Cancel;
  /** Calls `act` again and again, each time after this long. A process that has nothing else to do ends all the same. */
  every(ms: number, act: () => void): Cancel;
  /** Fires after this long, with a `TimeoutError`. A process that has nothing else to do ends before. */
  signalAfter(ms: number): AbortSignal;
}

/** A signal that is bound to a time. */
interface TimeLimit {
  readonly signal: AbortSignal;
  /** Lets go of timer and other signals. Call it when nothing waits for the signal any more. */
  readonly end: Cancel;
}

/**
 * Aborts after this long, in milliseconds, with a `TimeoutError`; or as soon as one of `others` aborts, with its reason. Use it instead of
 * `AbortSignal.any`: what that makes in Node.js 20 forgets a timeout when memory is collected.
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

/** The longest that a timer of Node runs. One for longer would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;
const timerMs = (ms: number) => Math.min(Math.max(Math.floor(ms), 0), LONGEST_MS);

/** The time of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, timerMs(ms));
      signal?.addEventListener('abort', end, { once: true });
    }),
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

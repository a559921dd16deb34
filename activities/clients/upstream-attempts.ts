const BACKOFF_MIN_MS = 500;
const BACKOFF_MAX_MS = 30_000;
/** Callers are refused at once for this long after a failed attempt, so that a broken server is not started per call. */
const FAIL_FAST_MS = 1_000;
/** A connection that lived this long was a good one: the next failure starts the pauses afresh. */
const STABLE_MS = 30_000;

/** When an upstream is connected again that could not be connected, or was lost: after pauses that get longer. */
export class Attempts {
  readonly #connect: () => Promise<unknown>;
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  /** @param connect Never rejects. */
  constructor(connect: () => Promise<unknown>) {
    this.#connect = connect;
  }

  /** Whether it is too early for another attempt. */
  get hasJustFailed(): boolean {
    return performance.now() - this.#failedAt < FAIL_FAST_MS;
  }

  /** An attempt failed. Answers whether it is the first one in a row. */
  failed(): boolean {
    this.#failedAt = performance.now();
    return this.#failures === 0;
  }

  /** A connection was lost that was good since this instant of `performance.now()`. */
  lost(since: number): void {
    if (performance.now() - since > STABLE_MS) this.#failures = 0;
  }

  /** Connects after the pause, unless `stop` is called before. */
  later(): void {
    const pauseMs = Math.min(
      BACKOFF_MAX_MS,
      Math.max(FAIL_FAST_MS, BACKOFF_MIN_MS * 2 ** Math.min(this.#failures, 10)),
    );
    this.#failures += 1;
    this.stop();
    this.#timer = setTimeout(() => void this.#connect(), pauseMs).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

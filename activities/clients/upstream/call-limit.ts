import type { Cancel, Clock } from '../../../apps/shared/clock.ts';

/** Limits the time of a request. The time for which it is paused does not count: a person may be typing then. */
export class CallLimit {
  readonly #clock: Clock;
  readonly #over = new AbortController();
  #leftMs: number;
  #since: number;
  #pauses = 0;
  #cancel: Cancel | undefined;

  /** `ms`: milliseconds. Undefined for no limit. */
  constructor(clock: Clock, ms: number | undefined) {
    this.#clock = clock;
    this.#leftMs = ms ?? Infinity;
    this.#since = clock.monotonicMs();
    this.#run();
  }

  /** Fires when the time is over. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Stops the time until the answer is called. Pauses may overlap. */
  pause(): () => void {
    if (this.#pauses === 0) this.#leftMs -= this.#clock.monotonicMs() - this.#since;
    this.#pauses += 1;
    this.#cancel?.();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#pauses -= 1;
      if (this.#pauses === 0) this.#run();
    };
  }

  /** Releases the timer. */
  end(): void {
    this.#leftMs = Infinity;
    this.#cancel?.();
  }

  #run(): void {
    this.#since = this.#clock.monotonicMs();
    if (this.#leftMs === Infinity) return;
    this.#cancel = this.#clock.once(Math.max(0, this.#leftMs), () => this.#over.abort());
  }
}

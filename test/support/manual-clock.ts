import type { Cancel, Clock } from '../../apps/shared/clock.ts';

/** The original functions, before a test replaced any. */
const { setImmediate } = globalThis;
/** Turns of the event loop in which started work comes to its next wait for time. */
const TURNS = 5;

interface Timer {
  dueMs: number;
  readonly everyMs: number | undefined;
  readonly act: () => void;
}

/**
 * A clock that moves only when it is told to. It starts at the instant `startMs` (milliseconds since 1970). The clock
 * does not wait for work that waits for something else, like a socket.
 */
export class ManualClock implements Clock {
  #elapsedMs = 0;
  #startMs: number;
  readonly #timers = new Set<Timer>();

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#startMs + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  after(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const end = () => {
        cancel();
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const cancel = this.once(ms, end);
      signal?.addEventListener('abort', end, { once: true });
    });
  }

  once(ms: number, act: () => void): Cancel {
    return this.#add(ms, undefined, act);
  }

  every(ms: number, act: () => void): Cancel {
    return this.#add(ms, Math.max(ms, 1), act);
  }

  signalAfter(ms: number): AbortSignal {
    const controller = new AbortController();
    this.once(ms, () => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')));
    return controller.signal;
  }

  /** The number of set timers. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Sets the wall clock, to milliseconds since 1970. No timer fires by that. */
  set(nowMs: number): void {
    this.#startMs = nowMs - this.#elapsedMs;
  }

  /** Lets this much time pass: due timers fire in order, and each one's consequences come before the next. */
  async advance(ms: number): Promise<void> {
    await settle();
    const endMs = this.#elapsedMs + ms;
    for (let timer = this.#next(endMs); timer !== undefined; timer = this.#next(endMs)) {
      this.#elapsedMs = Math.max(this.#elapsedMs, timer.dueMs);
      if (timer.everyMs === undefined) this.#timers.delete(timer);
      else timer.dueMs += timer.everyMs;
      timer.act();
      await settle();
    }
    this.#elapsedMs = endMs;
  }

  #add(ms: number, everyMs: number | undefined, act: () => void): Cancel {
    const timer = { dueMs: this.#elapsedMs + Math.max(ms, 0), everyMs, act };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  #next(byMs: number): Timer | undefined {
    const due = [...this.#timers].filter(({ dueMs }) => dueMs <= byMs);
    return due.sort((a, b) => a.dueMs - b.dueMs)[0];
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

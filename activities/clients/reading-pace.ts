import type { Readable } from 'node:stream';
import type { Cancel, Clock } from '../../apps/shared/clock.ts';

/** A large message costs as much as several: it counts once, and once more for each of these. */
const BYTES_PER_MESSAGE = 16 * 1024;
/** An upstream that is too fast all the time is named in the log this often. */
const REPORT_MS = 60_000;
/** The byte that ends a line. */
export const LINE_END = 0x0a;

/**
 * How fast one upstream is read: a second's worth of messages at once, and after that no more than so many in a second.
 * What comes faster waits at the upstream, which is slowed down by it. Nothing is lost, and no other upstream waits.
 */
export class ReadingPace {
  readonly #perSecond: number;
  readonly #onTooFast: () => void;
  readonly #clock: Clock;
  /** Messages that were read and for which the time has not passed yet. */
  #ahead = 0;
  #countedAt: number;
  #reportedAt = Number.NEGATIVE_INFINITY;

  /** `onTooFast` is called when the upstream has to wait, at most once a minute. */
  constructor(perSecond: number, onTooFast: () => void, clock: Clock) {
    this.#perSecond = perSecond;
    this.#onTooFast = onTooFast;
    this.#clock = clock;
    this.#countedAt = clock.monotonicMs();
  }

  /** Counts what was read. Answers for how long nothing should be read now, in milliseconds. */
  pauseAfter(chunk: Buffer): number {
    const now = this.#clock.monotonicMs();
    const elapsed = ((now - this.#countedAt) / 1_000) * this.#perSecond;
    this.#ahead = Math.max(0, this.#ahead - elapsed) + linesIn(chunk) + chunk.length / BYTES_PER_MESSAGE;
    this.#countedAt = now;
    const over = this.#ahead - this.#perSecond;
    if (over <= 0) return 0;
    if (now - this.#reportedAt > REPORT_MS) {
      this.#reportedAt = now;
      this.#onTooFast();
    }
    return (over / this.#perSecond) * 1_000;
  }
}

/** Every line is one: a message of a program is a line, and so is what only looks like one. */
function linesIn(chunk: Buffer): number {
  let lines = 0;
  for (let at = chunk.indexOf(LINE_END); at !== -1; at = chunk.indexOf(LINE_END, at + 1)) lines += 1;
  return lines;
}

/** Holds a stream that somebody else reads by its events to this pace. Answers how to let it go for good. */
export function keepPace(stream: Readable, { pace, clock }: { pace: ReadingPace; clock: Clock }): () => void {
  let cancel: Cancel | undefined;
  const goOn = () => {
    cancel = undefined;
    stream.resume();
  };
  const hold = (chunk: Buffer) => {
    const pauseMs = pace.pauseAfter(chunk);
    if (pauseMs === 0 || cancel !== undefined) return;
    stream.pause();
    cancel = clock.once(pauseMs, goOn);
  };
  stream.on('data', hold);
  return () => {
    stream.off('data', hold);
    cancel?.();
    goOn();
  };
}

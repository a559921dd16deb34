import type { Readable } from 'node:stream';
import type { Cancel, Clock } from '../../../apps/shared/clock.ts';
import { MAX_LEVELS } from '../../../workflows/domain/faithful-json.ts';

/** The code of JSON-RPC for an answer that cannot be given. */
export const INTERNAL_ERROR = -32_603;

/** Limits on reading one upstream. Messages beyond them are not read, and only its own calls fail. */
export interface UpstreamLimits {
  /** Bytes of one message: a line, an event, an answer, a whole list. */
  readonly maxMessageBytes: number;
  /** Members of objects and elements of lists in one message. */
  readonly maxMessageMembers: number;
  /** Tools that it may list; likewise prompts, resources and resource templates. */
  readonly maxListItems: number;
  /** Seconds after which one of its lists is read anew before it is used. Zero: before each use. */
  readonly maxListAgeSeconds: number;
  /** Messages read in a second. */
  readonly maxMessagesPerSecond: number;
}

export type MessageLimits = Pick<UpstreamLimits, 'maxMessageBytes' | 'maxMessageMembers'>;

/** A message that arrived and is not read. Its text goes on where "the answer" ends. */
export class UnreadableMessage extends Error {
  override readonly name = 'UnreadableMessage';
}

export const tooLarge = ({ maxMessageBytes }: MessageLimits): UnreadableMessage =>
  new UnreadableMessage(`is larger than ${maxMessageBytes} bytes (limits.maxMessageBytes)`);

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_OBJECT, OPEN_LIST, CLOSE_OBJECT, CLOSE_LIST] = [0x7b, 0x5b, 0x7d, 0x5d];
/** No name that matters here, and no identifier of ours, is longer. */
const MAX_KEPT_BYTES = 32;

/**
 * The size of a JSON-RPC message that arrives in pieces, and the request that it answers. It is scanned byte by byte, so that no
 * part has to be kept or parsed first: every byte of UTF-8 that matters here is a character of its own.
 *
 * @see RFC 8259, section 2
 */
export class MessageShape {
  readonly #limits: MessageLimits;
  #bytes = 0;
  #members = 0;
  #deepest = 0;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Of the outermost object: the bytes since its last mark, and the name before that. */
  #kept: number[] = [];
  #name = '';
  #id: number | undefined;
  #isAnswer = false;

  constructor(limits: MessageLimits) {
    this.#limits = limits;
  }

  feed(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    for (const byte of chunk) this.#look(byte);
  }

  /** The request that it answers, as far as it has arrived. Its server has ids of its own for what it asks. */
  get answers(): number | undefined {
    return this.#isAnswer ? this.#id : undefined;
  }

  /** Why it is not read, as far as it has arrived. */
  get fault(): UnreadableMessage | undefined {
    const { maxMessageBytes, maxMessageMembers } = this.#limits;
    if (this.#bytes > maxMessageBytes) return tooLarge(this.#limits);
    if (this.#deepest > MAX_LEVELS) return new UnreadableMessage(`is nested more than ${MAX_LEVELS} levels deep`);
    if (this.#members <= maxMessageMembers) return undefined;
    return new UnreadableMessage(`has more than ${maxMessageMembers} members and elements (limits.maxMessageMembers)`);
  }

  #look(byte: number): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) this.#isInString = false;
    } else if (byte === QUOTE) this.#isInString = true;
    else if (byte === COMMA || byte === COLON) return this.#mark(byte);
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) return this.#mark(byte, 1);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) return this.#mark(byte, -1);
    if (this.#depth === 1 && this.#kept.length < MAX_KEPT_BYTES) this.#kept.push(byte);
  }

  #mark(byte: number, deeper = 0): void {
    if (this.#depth === 1) this.#note(byte);
    this.#depth += deeper;
    this.#deepest = Math.max(this.#deepest, this.#depth);
    if (byte === COMMA || deeper > 0) this.#members += 1;
  }

  #note(mark: number): void {
    const text = String.fromCharCode(...this.#kept).trim();
    this.#kept = [];
    if (mark === COLON) {
      this.#name = text;
      this.#isAnswer ||= text === '"result"' || text === '"error"';
    } else if (this.#name === '"id"' && /^\d{1,15}$/.test(text)) this.#id = Number(text);
  }
}

/** A large message costs as much as several: it counts once, and once more for each of these. */
const BYTES_PER_MESSAGE = 16 * 1024;
/** An upstream that is too fast all the time is named in the log this often. */
const REPORT_MS = 60_000;
export const LINE_END = 0x0a;

/**
 * The pace of reading one upstream: a second's worth of messages at once, and after that no more than so many in a second. Faster
 * messages wait at the upstream, which slows it down. Nothing is lost, and no other upstream waits. `onTooFast` is called when the
 * upstream has to wait, at most once a minute.
 */
export function createReadingPace(perSecond: number, onTooFast: () => void, clock: Clock) {
  /** Messages that were read ahead of the pace. */
  let ahead = 0;
  let countedAt = clock.monotonicMs();
  let reportedAt = Number.NEGATIVE_INFINITY;
  return {
    /** Counts a chunk that was read. Answers the pause before the next one, in milliseconds. */
    pauseAfter(chunk: Buffer): number {
      const now = clock.monotonicMs();
      const elapsed = ((now - countedAt) / 1_000) * perSecond;
      ahead = Math.max(0, ahead - elapsed) + linesIn(chunk) + chunk.length / BYTES_PER_MESSAGE;
      countedAt = now;
      const over = ahead - perSecond;
      if (over <= 0) return 0;
      if (now - reportedAt > REPORT_MS) {
        reportedAt = now;
        onTooFast();
      }
      return (over / perSecond) * 1_000;
    },
  };
}

export interface Reading extends MessageLimits {
  readonly pace: ReturnType<typeof createReadingPace>;
  readonly clock: Clock;
  readonly onUnreadable: (why: UnreadableMessage) => void;
}

/** Each line counts as a message. */
function linesIn(chunk: Buffer): number {
  let lines = 0;
  for (let at = chunk.indexOf(LINE_END); at !== -1; at = chunk.indexOf(LINE_END, at + 1)) lines += 1;
  return lines;
}

/** Holds a stream, which is read by its events, to this pace. Answers how to release it for good. */
export function keepPace(stream: Readable, { pace, clock }: Pick<Reading, 'pace' | 'clock'>): () => void {
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

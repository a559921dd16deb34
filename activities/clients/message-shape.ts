/** Levels of objects and lists in one another that one message of an upstream may have: what is deeper cannot be walked through. */
const MAX_LEVELS = 200;

/** The code of JSON-RPC for an answer that cannot be given. */
export const INTERNAL_ERROR = -32_603;

/** What one message of an upstream may consist of. */
export interface MessageLimits {
  readonly maxMessageBytes: number;
  /** Members of objects and elements of lists. */
  readonly maxMessageMembers: number;
}

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
 * How large a JSON-RPC message is that arrives in pieces, and which request it answers. It is looked at byte by byte, so that
 * nothing of it has to be kept or understood first: every byte of UTF-8 that matters here is a character of its own.
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
  /** Of the outermost object: what stands since its last mark, and the name before that. */
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

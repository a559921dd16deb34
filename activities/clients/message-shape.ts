/** Levels of objects and lists in one another that one message of an upstream may have: what is deeper cannot be walked through. */
export const MAX_LEVELS = 200;

/** Why a message of an upstream is not read. */
export type Excess = 'maxMessageBytes' | 'maxMessageMembers' | 'levels';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING = new Set([0x7b, 0x5b]);
const CLOSING = new Set([0x7d, 0x5d]);
/** No identifier of ours is longer. */
const MAX_SCALAR_BYTES = 64;

/**
 * How large a JSON text is that arrives in pieces: looked at byte by byte, so that nothing of it has to be kept or understood
 * first. Every byte of UTF-8 that matters here is a character of its own. @see RFC 8259, section 2
 */
export class MessageShape {
  bytes = 0;
  /** Members of objects and elements of lists, all of them together. */
  members = 0;
  levels = 0;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Of the outermost object: the bytes of what stands between two of its marks, the name before them, and its `id`. */
  #scalar: number[] = [];
  #name = '';
  #id: unknown;

  feed(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    for (const byte of chunk) this.#look(byte);
  }

  /** The `id` of the message, where it is one that we give. */
  get id(): number | undefined {
    return typeof this.#id === 'number' ? this.#id : undefined;
  }

  excess(limits: { readonly maxMessageBytes: number; readonly maxMessageMembers: number }): Excess | undefined {
    if (this.bytes > limits.maxMessageBytes) return 'maxMessageBytes';
    if (this.levels > MAX_LEVELS) return 'levels';
    return this.members > limits.maxMessageMembers ? 'maxMessageMembers' : undefined;
  }

  #look(byte: number): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) this.#isInString = false;
    } else if (byte === QUOTE) this.#isInString = true;
    else if (byte === COMMA || byte === COLON || OPENING.has(byte) || CLOSING.has(byte)) return this.#mark(byte);
    if (this.#depth === 1 && this.#scalar.length < MAX_SCALAR_BYTES) this.#scalar.push(byte);
  }

  #mark(byte: number): void {
    if (this.#depth === 1) this.#note(byte);
    if (byte === COMMA) this.members += 1;
    else if (OPENING.has(byte)) {
      this.members += 1;
      this.#depth += 1;
      this.levels = Math.max(this.levels, this.#depth);
    } else if (CLOSING.has(byte)) this.#depth -= 1;
  }

  #note(byte: number): void {
    const text = Buffer.from(this.#scalar).toString('utf8').trim();
    this.#scalar = [];
    if (byte === COLON) this.#name = text;
    else if (this.#name === '"id"' && /^\d{1,15}$/.test(text)) this.#id = Number(text);
  }
}

/** An answer that arrived and cannot be read, in place of that answer. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';

  constructor(excess: Excess, limits: { readonly maxMessageBytes: number; readonly maxMessageMembers: number }) {
    super(
      excess === 'levels'
        ? `is nested in more than ${MAX_LEVELS} levels`
        : excess === 'maxMessageBytes'
          ? `is larger than ${limits.maxMessageBytes} bytes (limits.maxMessageBytes)`
          : `has more than ${limits.maxMessageMembers} members and elements (limits.maxMessageMembers)`,
    );
  }
}

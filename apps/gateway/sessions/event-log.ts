export interface StoredEvent {
  /** From 1, within its stream. */
  readonly number: number;
  /** As it is on the wire, in UTF-8. */
  readonly bytes: Uint8Array;
  /** A notice can be missing. An answer or a question cannot. */
  readonly isNotice: boolean;
}

interface StoredStream {
  readonly log: EventLog;
  events: StoredEvent[];
  /** The number of the last event. */
  last: number;
  /** An answer or a question up to this number is no longer kept. */
  lostUpTo: number;
}

/** Counts the stored events of all sessions of a process, and drops the oldest streams above a limit. */
export class EventBudget {
  readonly #maxBytes: number;
  readonly #oldest = new Set<StoredStream>();
  #bytes = 0;

  /** @param maxBytes Of all sessions together. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The bytes that are stored now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts stored events. Has the oldest streams dropped, also of other sessions, until the limit holds. */
  add(stream: StoredStream, bytes: number): void {
    this.#bytes += bytes;
    this.#oldest.add(stream);
    for (const oldest of this.#oldest) {
      if (this.#bytes <= this.#maxBytes) break;
      oldest.log.drop(oldest);
    }
  }

  /** Counts events that are no longer stored. `isEmpty`: the stream has no others. */
  remove(stream: StoredStream, bytes: number, isEmpty: boolean): void {
    this.#bytes -= bytes;
    if (isEmpty) this.#oldest.delete(stream);
  }
}

/**
 * The events of the streams of one session, in memory, for a client that comes back after its connection broke. Above the limit, notices are
 * dropped first, then whole streams from the oldest.
 */
export class EventLog {
  readonly #budget: EventBudget;
  readonly #maxBytes: number;
  readonly #streams = new Map<number, StoredStream>();
  #bytes = 0;

  constructor(budget: EventBudget, maxBytes: number) {
    this.#budget = budget;
    this.#maxBytes = maxBytes;
  }

  /** Makes a stream known before its first event. */
  begin(of: number): void {
    this.#streams.set(of, { log: this, events: [], last: 0, lostUpTo: 0 });
  }

  /** Stores what `render` makes of the number of the event, and hands it back. */
  append(of: number, isNotice: boolean, render: (number: number) => Uint8Array): StoredEvent {
    const stream = this.#streams.get(of);
    if (stream === undefined) throw new Error('an event belongs to no stream');
    const number = stream.last + 1;
    const event = { number, bytes: render(number), isNotice };
    stream.last = number;
    stream.events.push(event);
    this.#bytes += event.bytes.length;
    this.#budget.add(stream, event.bytes.length);
    if (this.#bytes > this.#maxBytes) this.#dropNotices();
    for (const oldest of this.#streams.values()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.drop(oldest);
    }
    return event;
  }

  /** The events after this one. `undefined`: the stream is not known, or an answer after this event is no longer kept. */
  after(of: number, number: number): readonly StoredEvent[] | undefined {
    const stream = this.#streams.get(of);
    if (stream === undefined || number > stream.last || number < stream.lostUpTo) return undefined;
    return stream.events.filter((event) => event.number > number);
  }

  forget(of: number): void {
    const stream = this.#streams.get(of);
    if (stream === undefined) return;
    this.drop(stream);
    this.#streams.delete(of);
  }

  clear(): void {
    for (const of of [...this.#streams.keys()]) this.forget(of);
  }

  /** Drops the events of a stream. The stream stays known. */
  drop(stream: StoredStream): void {
    stream.lostUpTo = stream.events.findLast(({ isNotice }) => !isNotice)?.number ?? stream.lostUpTo;
    this.#keep(stream, []);
  }

  #dropNotices(): void {
    for (const stream of this.#streams.values()) {
      const others = stream.events.filter(({ isNotice }) => !isNotice);
      this.#keep(stream, others);
    }
  }

  /** Keeps only these of its events. */
  #keep(stream: StoredStream, events: StoredEvent[]): void {
    const bytes = sizeOf(stream.events) - sizeOf(events);
    stream.events = events;
    this.#bytes -= bytes;
    this.#budget.remove(stream, bytes, events.length === 0);
  }
}

const sizeOf = (events: readonly StoredEvent[]) => events.reduce((sum, { bytes }) => sum + bytes.length, 0);

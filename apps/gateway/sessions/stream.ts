import type { RequestId } from '@modelcontextprotocol/server';
import type { Clock } from '../../shared/clock.ts';
import { openConnection, type Connection } from './connection.ts';
import type { EventLog } from './event-log.ts';
import { primingEvent, QUIET_START, renderEvent } from './sse.ts';

/** The revision from which on an event without data may come first, so that a client can resume before the first message. */
const PRIMED_FROM = '2025-11-25';
/** After so long without a connection, a client counts as gone. It may still come back. */
const GONE_MS = 10_000;

export interface StreamDeps {
  /** The agreed revision. It counts, and not a header: some clients state another one later. */
  readonly revision: string;
  readonly log: EventLog;
  readonly clock: Clock;
  /** At the start of the ids of events. */
  readonly mark: string;
}

/** One stream of a session. It outlives its connections. */
export class SessionStream {
  readonly number: number;
  /** Requests without an answer. */
  readonly open = new Set<RequestId>();
  /** When the last request was answered, by the monotonic clock. */
  endedAt: number | undefined;
  readonly #deps: StreamDeps;
  #connection: Connection | undefined;
  /** The number of the last event that went into a connection. */
  #written = 0;
  #isGone = false;
  /** There once a caller asked for it. */
  #gone: AbortController | undefined;
  #stopGoing: (() => void) | undefined;

  constructor(deps: StreamDeps, number: number) {
    this.#deps = deps;
    this.number = number;
    deps.log.begin(number);
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /** Fires when the stream has had no connection for ten seconds while a request had no answer. */
  get gone(): AbortSignal {
    if (this.#isGone) return AbortSignal.abort();
    this.#gone ??= new AbortController();
    return this.#gone.signal;
  }

  /** Opens a first connection. */
  connect(headers?: Readonly<Record<string, string>>): Response {
    return this.#connect(0, headers);
  }

  /**
   * Opens a connection that goes on after an event; without one, after the last that went into a connection. It takes the place of the one
   * before, since the gateway may learn late that it is dead. `undefined`: an answer after that event is no longer kept.
   */
  resume(after?: number): Response | undefined {
    const from = after ?? this.#written;
    const missed = this.#deps.log.after(this.number, from);
    if (missed === undefined && after !== undefined) return undefined;
    this.#connection?.end();
    const response = this.#connect(from);
    for (const event of missed ?? []) {
      this.#connection?.refill(event.bytes);
      this.#written = event.number;
    }
    if (this.endedAt !== undefined) this.#connection?.end();
    return response;
  }

  write(message: object, isNotice: boolean): void {
    const render = (number: number) => renderEvent(this.#idOf(number), message);
    const event = this.#deps.log.append(this.number, isNotice, render);
    if (this.#connection === undefined) return;
    this.#written = event.number;
    this.#connection.write(event.bytes);
  }

  /** Ends the present connection. */
  disconnect(): void {
    this.#connection?.end();
  }

  /** Every request has its answer. */
  finish(): void {
    this.endedAt = this.#deps.clock.monotonicMs();
    this.#stopGoing?.();
    this.disconnect();
  }

  close(): void {
    this.open.clear();
    this.finish();
    this.#gone?.abort();
  }

  #connect(from: number, headers?: Readonly<Record<string, string>>): Response {
    this.#stopGoing?.();
    const { clock, revision } = this.#deps;
    const connection = openConnection(clock, () => this.#left(connection), headers);
    this.#connection = connection;
    connection.write(revision >= PRIMED_FROM ? primingEvent(this.#idOf(from)) : QUIET_START);
    return connection.response;
  }

  #left(connection: Connection): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    if (this.open.size === 0) return;
    this.#stopGoing = this.#deps.clock.once(GONE_MS, () => {
      this.#isGone = true;
      this.#gone?.abort();
    });
  }

  #idOf(number: number): string {
    return `${this.#deps.mark}.${this.number}-${number}`;
  }
}

/** The stream and the number in the id of an event of the session with this mark. */
export function placeIn(
  eventId: string,
  mark: string,
): { readonly stream: number; readonly number: number } | undefined {
  const [, ofSession, stream, number] = /^([A-Za-z0-9_-]+)\.(\d{1,15})-(\d{1,15})$/.exec(eventId) ?? [];
  return ofSession === mark ? { stream: Number(stream), number: Number(number) } : undefined;
}

import type { Clock } from '../../shared/clock.ts';

/** Comment lines keep proxies from taking a quiet stream for a dead one. @see LISTEN-009 */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = ': keep-alive\n\n';

/** An answer of several JSON-RPC messages, as server-sent events. */
export interface EventStream {
  readonly response: Response;
  /** Fires when nothing will be sent any more: the stream was ended, or the client has gone. */
  readonly over: AbortSignal;
  /** When the connection is done with it. Never rejects. */
  readonly closed: Promise<void>;
  /** Resolves when there is room for the next one, so that a client that reads slowly is not sent more than it reads. */
  readonly send: (message: object) => Promise<void>;
  /** Sends this and nothing after it. A second end changes nothing. */
  readonly end: (last?: object) => void;
}

export function openEventStream(clock: Clock): EventStream {
  const { readable, writable } = new TextEncoderStream();
  const writer = writable.getWriter();
  const over = new AbortController();
  // Rejects when the client has gone, which `closed` tells.
  const write = (text: string) => writer.write(text).catch(() => undefined);
  const quiet = clock.every(KEEP_ALIVE_MS, () => {
    // What waits to be read keeps the stream alive as well.
    if ((writer.desiredSize ?? 0) > 0) void write(KEEP_ALIVE);
  });
  over.signal.addEventListener('abort', quiet, { once: true });
  const closed = writer.closed.catch(() => undefined).then(() => over.abort());

  return {
    response: new Response(readable, {
      headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
    }),
    over: over.signal,
    closed,
    async send(message) {
      if (!over.signal.aborted) await write(eventOf(message));
    },
    end(last) {
      if (over.signal.aborted) return;
      over.abort();
      if (last !== undefined) void write(eventOf(last));
      writer.close().catch(() => undefined);
    },
  };
}

const eventOf = (message: object) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

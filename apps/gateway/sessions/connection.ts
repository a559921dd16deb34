import type { Clock } from '../../shared/clock.ts';

/** Comment lines keep proxies from taking a quiet stream for a dead one. */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = new TextEncoder().encode(': keep-alive\n\n');
/** A client that leaves more than this unread loses its connection, and can come back for the rest. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** One HTTP answer that carries a stream of a session for a while. */
export type Connection = ReturnType<typeof openConnection>;

/**
 * @param onLeft Called once, when the connection has ended for any reason.
 * @param headers Further headers of the answer.
 */
export function openConnection(
  clock: Pick<Clock, 'every'>,
  onLeft: (connection: Connection) => void,
  headers: Readonly<Record<string, string>> = {},
) {
  let isOver = false;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const leave = () => {
    if (isOver) return false;
    isOver = true;
    stopKeepAlive();
    onLeft(connection);
    return true;
  };
  const body = new ReadableStream<Uint8Array>(
    { start: (of) => void (controller = of), cancel: () => void leave() },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }),
  );
  const isFull = () => (controller?.desiredSize ?? 0) <= 0;
  const stopKeepAlive = clock.every(KEEP_ALIVE_MS, () => {
    // An unread message keeps the connection alive as well.
    if (!isFull()) controller?.enqueue(KEEP_ALIVE);
  });

  const connection = {
    response: new Response(body, {
      headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no', ...headers },
    }),

    /** Writes nothing to a connection that has ended. Cuts one whose client does not read. */
    write(bytes: Uint8Array): void {
      if (isOver) return;
      if (!isFull()) return controller?.enqueue(bytes);
      controller?.error(new Error('the client does not read'));
      leave();
    },

    /** The same for events that were stored: they are in memory already, however many they are. */
    refill(bytes: Uint8Array): void {
      if (!isOver) controller?.enqueue(bytes);
    },

    /** Ends the answer after what was written. A second end changes nothing. */
    end(): void {
      if (leave()) controller?.close();
    },
  };
  return connection;
}

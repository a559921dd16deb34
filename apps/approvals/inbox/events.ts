import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { listen } from '../../shared/database/listen.ts';
import type { Running } from '../../shared/lifecycle.ts';
import type { Timing } from '../../shared/limits.ts';

/** The notice of every change that a list or a request page shows: `prisma/functions/approvals/announce_change.sql`. */
const CHANNEL = 'approvals_changed';
/**
 * A stream ends after this time, and its browser opens the next one. So a person who signed out or lost a role keeps no stream for longer.
 * Milliseconds.
 */
const STREAM_MS = 60_000;
const RECONNECT_MS = 250;
/** Open streams of this process. A browser that is refused asks again by its page alone, when a person loads it. */
const MAX_STREAMS = 1_000;

export interface Changes extends Running {
  /**
   * `GET /requests/events`: says that something changed, without saying what. Readers load what they may read. `since` is when the page
   * was drawn, in milliseconds since 1970: a change after it is told at once, so nothing is lost between a page and its stream.
   * @see WHATWG HTML, Server-sent events
   */
  readonly stream: RequestHandler;
}

interface ChangesOptions extends Timing {
  /** A direct connection, because a transaction pooler swallows notices. */
  readonly databaseUrl: string;
  readonly log: Logger;
}

/** Tells browsers of changes, by one connection to the database for all of them. Nothing happens while nothing changes. */
export async function startChanges({ databaseUrl, log, ...time }: ChangesOptions): Promise<Changes> {
  const { clock } = time;
  const open = new Set<Response>();
  let latest = clock.now();
  let isStopping = false;
  const tell = (response: Response) => {
    // A browser that reads slowly still has an event before it, which says as much.
    if (!response.writableNeedDrain) response.write(`id: ${latest}\nevent: changed\ndata:\n\n`);
  };
  /** A write after the end would be an error event, which ends the process. The connection may close much later. */
  const end = (response: Response) => {
    open.delete(response);
    response.end();
  };
  const listening = await listen({
    ...{ url: databaseUrl, channel: CHANNEL, log },
    ...time,
    // Also when a connection begins to listen: notices may have been lost before it.
    onNotice: () => {
      latest = Math.max(latest + 1, clock.now());
      for (const response of open) tell(response);
    },
  });
  const stream = (request: Request, response: Response) => {
    if (open.size >= MAX_STREAMS) return void response.status(503).end();
    response.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' });
    response.write(`retry: ${RECONNECT_MS}\n\n`);
    // A page that was just loaded asks while this process stops, and would keep it from stopping. It asks again.
    if (isStopping) return void response.end();
    open.add(response);
    const cancel = clock.once(STREAM_MS, () => end(response));
    response.once('close', () => {
      cancel();
      open.delete(response);
    });
    const seen = Number(request.get('Last-Event-ID') ?? request.query['since']);
    if (!(seen >= latest)) tell(response);
  };
  return {
    name: 'changes',
    stream,
    async stop() {
      isStopping = true;
      for (const response of open) end(response);
      await listening.stop();
    },
  };
}

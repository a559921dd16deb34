import { Client, escapeIdentifier } from 'pg';
import type { Logger } from 'pino';
import { pauseMs } from '../../../workflows/domain/gated-call/deadlines.ts';
import { orAborted } from '../clock.ts';
import type { Timing } from '../limits.ts';

const RECONNECT_MIN_MS = 500;
const RECONNECT_MAX_MS = 10_000;

export interface Listening extends Timing {
  /** A direct connection: a transaction pooler swallows notices. */
  readonly url: string;
  readonly channel: string;
  readonly log: Logger;
  /**
   * Called with the payload of every notice, and without one whenever a new connection begins to listen, because notices may have
   * been lost.
   */
  readonly onNotice: (payload?: string) => void;
}

/** Listens on its own connection, and replaces a lost one. Resolves after the first attempt. */
export async function listen(options: Listening): Promise<{ stop(): Promise<void> }> {
  const { log, onNotice, clock } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let triedOnce: () => void = () => undefined;
  const firstTry = new Promise<void>((resolve) => {
    triedOnce = resolve;
  });

  const keepListening = async (): Promise<void> => {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      await session(options, signal, () => {
        attempt = 0;
        triedOnce();
        onNotice();
      }).catch((err: unknown) => log.warn({ err, attempt }, 'this process hears no notices; it tries again'));
      triedOnce();
      await clock.after(reconnectPause(attempt + 1), signal);
    }
  };

  const listening = keepListening();
  await firstTry;
  return {
    async stop() {
      stopping.abort();
      await listening;
    },
  };
}

/** One connection, until it is lost or the signal fires. */
async function session(
  { url, channel, log, onNotice, limits }: Listening,
  signal: AbortSignal,
  onListening: () => void,
) {
  const client = new Client({
    connectionString: url,
    keepAlive: true,
    connectionTimeoutMillis: limits.databaseConnectMs,
    application_name: `countersign ${channel}`,
  });
  client.on('error', (err) => log.warn({ err }, 'the connection for notices of the database was lost'));
  client.on('notification', ({ payload }) => onNotice(payload));
  const ended = new Promise<void>((resolve) => client.once('end', resolve));
  try {
    await client.connect();
    await client.query(`LISTEN ${escapeIdentifier(channel)}`);
    onListening();
    await orAborted(ended, signal).catch(() => undefined);
  } finally {
    await client.end().catch(() => undefined);
  }
}

const reconnectPause = (attempt: number) =>
  pauseMs({
    attempt,
    minMs: RECONNECT_MIN_MS,
    maxMs: RECONNECT_MAX_MS,
    remainingMs: Infinity,
    random: Math.random(),
  });

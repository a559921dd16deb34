import { setMaxListeners } from 'node:events';
import { finished, type Stream } from 'node:stream';
import { StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Logger } from 'pino';

/** An upstream MCP server as the configuration names it: a program to start, or an address. */
export type UpstreamServer =
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string | undefined;
    }
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> };

const MAX_LOGGED_CHARS = 2_000;

/** A fresh, unconnected transport. A program inherits only harmless variables, never our own environment. */
export function createTransport(server: UpstreamServer, log: Logger): Transport {
  if ('url' in server) {
    return new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: { ...server.headers } },
      fetch: fetchOnce,
    });
  }
  const transport = new StdioClientTransport({
    command: server.command,
    args: [...server.args],
    env: { ...getDefaultEnvironment(), ...server.env },
    stderr: 'pipe',
    ...(server.cwd !== undefined && { cwd: server.cwd }),
  });
  logLines(transport.stderr, log);
  return transport;
}

/**
 * Fetches without following redirects: one would take the credential and the call to a place nobody configured, or send
 * the call twice. The transport's signal lives as long as the connection, and `fetch` lets go of a signal only when
 * garbage is collected; a signal per request keeps the listeners on it from piling up.
 */
async function fetchOnce(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const own = new AbortController();
  const abort = () => own.abort(init.signal?.reason);
  const release = () => init.signal?.removeEventListener('abort', abort);
  if (init.signal?.aborted) abort();
  else if (init.signal) {
    setMaxListeners(0, init.signal);
    init.signal.addEventListener('abort', abort, { once: true });
  }
  try {
    const response = await fetch(url, { ...init, redirect: 'error', signal: own.signal });
    if (response.body === null) release();
    else finished(response.body as unknown as NodeJS.ReadableStream, release);
    return response;
  } catch (error) {
    release();
    throw error;
  }
}

/** Keeps the program's error output flowing, so that it never blocks on a full pipe. */
function logLines(stream: Stream | null, log: Logger): void {
  stream?.on('data', (chunk: Buffer) => {
    log.debug({ stderr: chunk.toString('utf8').slice(0, MAX_LOGGED_CHARS) }, 'upstream wrote to its error output');
  });
}

const NOT_CONNECTED_SYSCALLS = new Set(['connect', 'getaddrinfo']);
const NOT_CONNECTED_CODE =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_|CERT_|.*_CERT.*|.*_SIGNATURE)/;

/** Whether an error of `fetch` proves that no connection came about, so that not one byte of the request was sent. */
export function isConnectFailure(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    const { code, syscall } = cause as { code?: unknown; syscall?: unknown };
    if (typeof syscall === 'string' && NOT_CONNECTED_SYSCALLS.has(syscall)) return true;
    if (typeof code === 'string' && NOT_CONNECTED_CODE.test(code)) return true;
  }
  return false;
}

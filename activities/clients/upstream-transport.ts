import { AsyncLocalStorage } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import type { Stream } from 'node:stream';
import { StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Logger } from 'pino';
import { Agent, request } from 'undici';
import type { Credentials, HttpUpstream } from './upstream-credentials.ts';
import { toResponse } from './upstream-response.ts';

/** An upstream MCP server as the configuration names it: a program to start, or an address. */
export type UpstreamServer =
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string | undefined;
    }
  | HttpUpstream;

const MAX_LOGGED_CHARS = 2_000;

/** A fresh, unconnected transport. A program inherits only harmless variables, never our own environment. */
export function createTransport(server: UpstreamServer, credentials: Credentials, log: Logger): Transport {
  if ('url' in server) {
    return new StreamableHTTPClientTransport(new URL(server.url), {
      fetch: (url, init) => fetchOnce(url, init, credentials),
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

const headersOfCall = new AsyncLocalStorage<Readonly<Record<string, string>>>();

/** Sends one request whose HTTP form carries these headers, and no credentials but those among them. */
export function withHeaders<T>(headers: Readonly<Record<string, string>>, send: () => Promise<T>): Promise<T> {
  return headersOfCall.run(headers, send);
}

/** Ends nothing by itself: a tool may take as long as its deadline, and a stream of notices may be silent for hours. */
const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

/**
 * Sends one request, for the transport. A redirect is an error: following it would take the credential and the call to a
 * place nobody configured, or send the call twice. Lets go of the transport's signal, which lives as long as the
 * connection, when the answer has been read; the built-in `fetch` keeps listening until garbage is collected.
 */
async function fetchOnce(url: string | URL, init: RequestInit = {}, credentials: Credentials): Promise<Response> {
  if (init.signal) setMaxListeners(0, init.signal);
  const sent: Record<string, string> = { 'accept-encoding': 'identity' };
  const own = headersOfCall.getStore() ?? (await credentials.headers());
  for (const part of [own, init.headers]) new Headers(part).forEach((value, name) => (sent[name] = value));
  const answer = await request(url, {
    method: (init.method ?? 'GET') as 'GET' | 'POST' | 'DELETE',
    headers: sent,
    body: (init.body as string | null | undefined) ?? null,
    signal: init.signal ?? null,
    dispatcher: agent,
  });
  if (answer.statusCode === 401) credentials.refused();
  if (answer.statusCode >= 300 && answer.statusCode < 400) {
    answer.body.destroy();
    throw new TypeError('the upstream server redirects, which is not followed');
  }
  return toResponse(answer);
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

import { EventEmitter, setMaxListeners } from 'node:events';
import { StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import type { Logger } from 'pino';
import { Agent, request, type Dispatcher } from 'undici';
import type { Clock } from '../../../apps/shared/clock.ts';
import { ReadingPace, type UnreadableMessage } from './reading.ts';
import type { Credentials, HttpUpstream } from './credentials.ts';
import { Exchange } from './request.ts';
import { createProgramTransport, type ProgramStart, type UpstreamProgram } from './program.ts';
import { toResponse, type Reading } from './response.ts';

/** What one upstream may make us read. What is beyond is not read, and harms its own calls only. */
export interface UpstreamLimits {
  /** Bytes of one message: a line, an event, an answer, a whole list. */
  readonly maxMessageBytes: number;
  /** Members of objects and elements of lists in one message. */
  readonly maxMessageMembers: number;
  /** Tools that it may list; likewise prompts, resources and resource templates. */
  readonly maxListItems: number;
  /** Seconds after which one of its lists is read anew before it is used. Zero: before each use. */
  readonly maxListAgeSeconds: number;
  /** Messages read in a second. */
  readonly maxMessagesPerSecond: number;
}

/** An upstream MCP server as the configuration names it: a program to start, or an address. */
export type UpstreamServer = { readonly limits: UpstreamLimits } & UpstreamAddress;
type UpstreamAddress = UpstreamProgram | HttpUpstream;

/** A fresh, unconnected transport. A program inherits only harmless variables, never our own environment. */
export function createTransport(
  server: UpstreamServer,
  credentials: Credentials,
  { log, program, clock }: { log: Logger; program: ProgramStart; clock: Clock },
): Transport {
  const { maxMessageBytes, maxMessageMembers, maxMessagesPerSecond } = server.limits;
  const onTooFast = () =>
    log.warn(
      { maxMessagesPerSecond },
      'the upstream sends more messages than limits.maxMessagesPerSecond; it has to wait',
    );
  const pace = new ReadingPace(maxMessagesPerSecond, onTooFast, clock);
  const onUnreadable = ({ message: why }: UnreadableMessage) =>
    log.warn({ why }, 'the upstream sent a message that cannot be read; the call that it may have been about fails');
  const reading: Reading = { maxMessageBytes, maxMessageMembers, pace, clock, onUnreadable };
  if (!('url' in server)) return createProgramTransport(server, { reading, start: program }, log);
  const asides = new Asides();
  return new StreamableHTTPClientTransport(new URL(server.url), {
    fetch: (url, init) => fetchOnce({ reading, credentials, asides }, url, init),
  });
}

/** Ends nothing by itself: a tool may take as long as its deadline, and a stream of notices may be silent for hours. */
const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

/** More than an upstream needs that answers. */
const MAX_ASIDES = 16;

/** Requests to one upstream that are no calls: notices, streams of notices, answers to what it asks. */
class Asides {
  #open = 0;

  /** Answers how to leave again. Throws when too many are open: one that never takes our answers would hold a connection for each. */
  enter(): () => void {
    if (this.#open >= MAX_ASIDES) throw new Error('the upstream does not take what it asked for');
    this.#open += 1;
    return () => void (this.#open -= 1);
  }
}

/** What all HTTP requests to one upstream have in common. */
interface Sending {
  readonly reading: Reading;
  readonly credentials: Credentials;
  readonly asides: Asides;
}

/**
 * Sends one request, for the transport. A redirect is an error: following it would take the credential and the call to a
 * place that is not configured, or send the call twice.
 */
async function fetchOnce(
  { reading, credentials, asides }: Sending,
  url: string | URL,
  init: RequestInit = {},
): Promise<Response> {
  const exchange = Exchange.take();
  const sent: Record<string, string> = { 'accept-encoding': 'identity' };
  const own = exchange?.headers ?? (await credentials.headers());
  for (const part of [own, init.headers]) new Headers(part).forEach((value, name) => (sent[name] = value));
  const onEnd = exchange === undefined ? asides.enter() : undefined;
  const answer = await whileWanted({ signals: [init.signal, exchange?.over], onEnd }, (signal) =>
    request(url, {
      method: (init.method ?? 'GET') as 'GET' | 'POST' | 'DELETE',
      headers: sent,
      body: (init.body as string | null | undefined) ?? null,
      signal,
      dispatcher: agent,
    }),
  );
  if (answer.statusCode === 401) credentials.refused();
  if (answer.statusCode >= 300 && answer.statusCode < 400) {
    answer.body.destroy();
    throw new TypeError('the upstream server redirects, which is not followed');
  }
  exchange?.begins(answer.body);
  const onUnreadable = (why: UnreadableMessage) => {
    reading.onUnreadable(why);
    exchange?.fail(why);
  };
  return toResponse(answer, { ...reading, onUnreadable });
}

/**
 * Ends the request when one of the signals fires, and says when it has ended. Lets go of the signals when the answer has been
 * read: one lives as long as the connection, and the built-in `fetch` keeps listening to it until garbage is collected.
 */
async function whileWanted(
  { signals, onEnd }: { signals: readonly (AbortSignal | null | undefined)[]; onEnd: (() => void) | undefined },
  send: (signal: EventEmitter) => Promise<Dispatcher.ResponseData>,
): Promise<Dispatcher.ResponseData> {
  const present = signals.filter((signal) => signal !== null && signal !== undefined);
  const ended = new EventEmitter();
  const end = () => ended.emit('abort');
  const letGo = () => {
    for (const signal of present) signal.removeEventListener('abort', end);
    onEnd?.();
  };
  for (const signal of present) {
    setMaxListeners(0, signal);
    signal.addEventListener('abort', end, { once: true });
  }
  try {
    for (const signal of present) signal.throwIfAborted();
    const answer = await send(ended);
    answer.body.once('close', letGo);
    return answer;
  } catch (error) {
    letGo();
    throw error;
  }
}

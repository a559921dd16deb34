import { EventEmitter, setMaxListeners } from 'node:events';
import { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Logger } from 'pino';
import { Agent, request, type Dispatcher } from 'undici';
import type { Clock } from '../../../apps/shared/clock.ts';
import {
  MessageShape,
  createReadingPace,
  tooLarge,
  type MessageLimits,
  type Reading,
  type UnreadableMessage,
  type UpstreamLimits,
} from './reading.ts';
import type { AskSettings } from './asks.ts';
import type { Credentials, HttpUpstream } from './credentials.ts';
import { Exchange } from './request.ts';
import { createProgramTransport, type ProgramStart, type UpstreamProgram } from './program.ts';

/** An upstream MCP server as the configuration names it: a program to start, or an address. */
export type UpstreamServer = AskSettings & {
  readonly limits: UpstreamLimits;
  /** Why it cannot be used, if its settings are not complete. */
  readonly fault?: string | undefined;
} & (UpstreamProgram | HttpUpstream);

interface TransportDeps {
  readonly log: Logger;
  readonly program: ProgramStart;
  readonly clock: Clock;
  /** Called when the stream of messages that belong to no request is open, or was refused. A program has no such stream. */
  readonly onListening?: (() => void) | undefined;
}

/** A fresh, unconnected transport. A program inherits only harmless variables. Throws for a server that cannot be used. */
export function createTransport(
  server: UpstreamServer,
  credentials: Credentials,
  { log, program, clock, onListening }: TransportDeps,
): Transport {
  if (server.fault !== undefined) throw new Error(server.fault);
  const { maxMessageBytes, maxMessageMembers, maxMessagesPerSecond } = server.limits;
  const onTooFast = () =>
    log.warn(
      { maxMessagesPerSecond },
      'the upstream sends more messages than limits.maxMessagesPerSecond; it has to wait',
    );
  const pace = createReadingPace(maxMessagesPerSecond, onTooFast, clock);
  const onUnreadable = ({ message: why }: UnreadableMessage) =>
    log.warn({ why }, 'the upstream sent a message that cannot be read; the call that it may have been about fails');
  const reading: Reading = { maxMessageBytes, maxMessageMembers, pace, clock, onUnreadable };
  if (!('url' in server)) return createProgramTransport(server, { reading, start: program }, log);
  const enterAside = createAsides();
  return new StreamableHTTPClientTransport(new URL(server.url), {
    fetch: (url, init) => fetchOnce({ reading, credentials, enterAside, onListening }, url, init),
  });
}

/** Has no time limits: a tool may take as long as its deadline, and a stream of notices may be silent for hours. */
const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

/** More than an upstream with working answers needs. */
const MAX_ASIDES = 16;

/**
 * Counts the requests to one upstream that are no calls: notices, streams of notices, answers to what it asks. Answers how to leave again.
 * Throws when too many are open: an upstream that takes no answer would hold a connection for each.
 */
function createAsides(): () => () => void {
  let open = 0;
  return () => {
    if (open >= MAX_ASIDES) throw new Error('the upstream does not take what it asked for');
    open += 1;
    return () => void (open -= 1);
  };
}

interface Sending {
  readonly reading: Reading;
  readonly credentials: Credentials;
  readonly enterAside: () => () => void;
  readonly onListening: TransportDeps['onListening'];
}

/**
 * Sends one request, for the transport. A redirect is an error: following it would take the credential and the call to a
 * place that is not configured, or send the call twice.
 */
async function fetchOnce(
  { reading, credentials, enterAside, onListening }: Sending,
  url: string | URL,
  init: RequestInit = {},
): Promise<Response> {
  const exchange = Exchange.take();
  const sent: Record<string, string> = { 'accept-encoding': 'identity' };
  const own = exchange?.headers ?? (await credentials.headers());
  for (const part of [own, init.headers]) new Headers(part).forEach((value, name) => (sent[name] = value));
  const onEnd = exchange === undefined ? enterAside() : undefined;
  const answer = await whileWanted({ signals: [init.signal, exchange?.over], onEnd }, (signal) =>
    request(url, {
      method: (init.method ?? 'GET') as 'GET' | 'POST' | 'DELETE',
      headers: sent,
      body: (init.body as string | null | undefined) ?? null,
      signal,
      dispatcher: agent,
    }),
  ).finally(() => {
    // Here and not at the first message, which may be the question that was waited for.
    if (init.method === 'GET') onListening?.();
  });
  if (answer.statusCode === 401) credentials.refused();
  if (answer.statusCode >= 300 && answer.statusCode < 400) {
    answer.body.destroy();
    throw new TypeError('the upstream server redirects, which is not followed');
  }
  if ([404, 405].includes(answer.statusCode) && init.method === 'POST' && /\/sse\/?$/.test(new URL(url).pathname)) {
    answer.body.destroy();
    throw new TypeError(OLDER_TRANSPORT);
  }
  exchange?.begins(answer.body);
  const onUnreadable = (why: UnreadableMessage) => {
    reading.onUnreadable(why);
    exchange?.fail(why);
  };
  return toResponse(answer, { ...reading, onUnreadable });
}

const OLDER_TRANSPORT =
  'its address is one of the older HTTP+SSE transport, which Countersign does not support; give the address of Streamable HTTP, which often ends in /mcp';

/**
 * Ends the request when one of the signals fires, and calls `onEnd` at its end. Stops listening to the signals when the answer has
 * been read: one lives as long as the connection, and the built-in `fetch` keeps listening to it until garbage is collected.
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

const EVENT_STREAM = 'text/event-stream';
/** An empty line ends an event. @see HTML, server-sent events, event stream interpretation */
const EVENT_ENDS = ['\n\n', '\r\n\r\n', '\r\r'];
const LONGEST_END = 4;

/**
 * An upstream's answer in the form that the SDK reads. A stream of events whose first message is the answer itself, which
 * is how most servers answer, is handed on as that message: the SDK's own reading of streams costs more than the call.
 * Rejects when the answer cannot be read.
 */
async function toResponse(
  { statusCode: status, headers: received, body }: Dispatcher.ResponseData,
  reading: Reading,
): Promise<Response> {
  const headers = new Headers();
  for (const [name, value = ''] of Object.entries(received)) {
    headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  const isStream = headers.get('content-type')?.startsWith(EVENT_STREAM) === true;
  if (!isStream) {
    const text = await readText(body, reading);
    return new Response(status === 204 ? null : text, { status, headers });
  }
  const { chunks, answer } = await readStart(body, reading);
  if (answer === undefined) {
    const rest = Readable.from(events(chunks, body, reading), { objectMode: false });
    return new Response(Readable.toWeb(rest) as ReadableStream, { status, headers });
  }
  headers.set('content-type', 'application/json');
  return Object.assign(new Response(null, { status, headers }), { json: async () => answer });
}

async function readText(body: Readable, reading: Reading): Promise<string> {
  const chunks: Buffer[] = [];
  const shape = new MessageShape(reading);
  for await (const chunk of body as AsyncIterable<Buffer>) {
    shape.feed(chunk);
    refuse(shape, reading);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Reads up to the first event with data. A stream that does not begin with the answer is left to the SDK, from the first byte on. */
function readStart(body: Readable, reading: Reading): Promise<{ chunks: Buffer[]; answer: unknown }> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const decoder = new StringDecoder('utf8');
    let first: { event?: string | undefined; data: string } | undefined;
    // Events without data only give the place in the stream a name.
    const parser = createParser({ onEvent: (event) => (first ??= event.data === '' ? undefined : event) });
    const stop = () => {
      body.off('data', take).off('end', stop).off('error', stop).pause();
      const answer = first && (first.event ?? 'message') === 'message' ? answerIn(first.data, reading) : undefined;
      // The rest after the answer is read and dropped, so that the connection can be used again.
      if (answer !== undefined) body.resume();
      resolve({ chunks, answer });
    };
    const take = (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      parser.feed(decoder.write(chunk));
      if (first !== undefined || bytes > reading.maxMessageBytes) stop();
    };
    body.on('data', take).once('end', stop).once('error', stop);
    // A connection may break at any time, also without a listener.
    body.on('error', () => undefined);
  });
}

/** A JSON-RPC answer; undefined for any other message, and for a text that the SDK has to judge. */
function answerIn(data: string, limits: MessageLimits): unknown {
  if (shapeOf(data, limits).fault !== undefined) return undefined;
  try {
    const message: unknown = JSON.parse(data);
    const isAnswer = typeof message === 'object' && message !== null && ('result' in message || 'error' in message);
    return isAnswer ? message : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The events that have arrived and those that will, no faster than their pace and than they are read. Throws at an unreadable event.
 */
async function* events(chunks: readonly Buffer[], body: Readable, reading: Reading): AsyncGenerator<Buffer> {
  let open = 0;
  let seen = Buffer.alloc(0);
  const decoder = new StringDecoder('utf8');
  const arrived: string[] = [];
  const parser = createParser({
    onEvent(event) {
      refuse(shapeOf(event.data, reading), reading);
      arrived.push(asText(event));
    },
    onRetry: (ms) => arrived.push(`retry: ${ms}\n\n`),
  });
  for await (const chunk of both(chunks, body)) {
    // An end may be cut in two by its chunks.
    seen = Buffer.concat([seen.subarray(-LONGEST_END), chunk]);
    const end = Math.max(...EVENT_ENDS.map((bytes) => seen.lastIndexOf(bytes)));
    open = end === -1 ? open + chunk.length : seen.length - end;
    if (open > reading.maxMessageBytes) refuse({ fault: tooLarge(reading) }, reading);
    parser.feed(decoder.write(chunk));
    if (arrived.length > 0) yield Buffer.from(arrived.splice(0).join(''));
    const pauseMs = reading.pace.pauseAfter(chunk);
    if (pauseMs > 0) await reading.clock.after(pauseMs);
  }
}

/** An event as it is sent. @see HTML, server-sent events */
const asText = ({ id, event, data }: EventSourceMessage): string =>
  [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...data.split('\n').map((line) => `data: ${line}`),
    '\n',
  ].join('\n');

async function* both(chunks: readonly Buffer[], body: Readable): AsyncGenerator<Buffer> {
  yield* chunks;
  yield* body as AsyncIterable<Buffer>;
}

function shapeOf(text: string, limits: MessageLimits): MessageShape {
  const shape = new MessageShape(limits);
  shape.feed(Buffer.from(text));
  return shape;
}

function refuse({ fault }: Pick<MessageShape, 'fault'>, { onUnreadable }: Reading): void {
  if (fault === undefined) return;
  onUnreadable(fault);
  throw fault;
}

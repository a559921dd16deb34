import { StringDecoder } from 'node:string_decoder';
import { Readable } from 'node:stream';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Dispatcher } from 'undici';
import type { Clock } from '../../../apps/shared/clock.ts';
import { MessageShape, tooLarge, type MessageLimits, type UnreadableMessage, type ReadingPace } from './reading.ts';

const EVENT_STREAM = 'text/event-stream';
/** An empty line ends an event. @see HTML, server-sent events, event stream interpretation */
const EVENT_ENDS = ['\n\n', '\r\n\r\n', '\r\r'];
const LONGEST_END = 4;

/** What an upstream's answers are read with. */
export interface Reading extends MessageLimits {
  readonly pace: ReadingPace;
  readonly clock: Clock;
  /** Called when a message is not read. */
  readonly onUnreadable: (why: UnreadableMessage) => void;
}

/**
 * An upstream's answer in the form that the SDK reads. A stream of events whose first message is the answer itself, which
 * is how most servers answer, is handed on as that message: the SDK's own reading of streams costs more than the call.
 * Rejects when the answer cannot be read.
 */
export async function toResponse(
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

/** Reads up to the first event with data. What cannot be judged from it is left to the SDK, from the first byte on. */
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
      // What comes after the answer is read and dropped, so that the connection can be used again.
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

/** A JSON-RPC answer; undefined for a request, a notice, what is neither, and what is left for a second look. */
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
 * The events that have arrived, and those that arrive, no faster than their pace and than they are read. Throws at one that cannot
 * be read.
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

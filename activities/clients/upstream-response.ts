import { StringDecoder } from 'node:string_decoder';
import type { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';

const EVENT_STREAM = 'text/event-stream';

/**
 * An upstream's answer in the form that the SDK reads. A stream of events whose first message is the answer itself, which
 * is how most servers answer, is handed on as that message: the SDK's own reading of streams costs more than the call.
 */
export async function toResponse({ statusCode: status, headers: received, body }: Dispatcher.ResponseData) {
  const headers = new Headers();
  for (const [name, value = ''] of Object.entries(received)) {
    headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  const isStream = headers.get('content-type')?.startsWith(EVENT_STREAM) === true;
  if (!isStream) return new Response(status === 204 ? null : await body.text(), { status, headers });
  const { chunks, answer } = await readStart(body);
  if (answer === undefined) return new Response(toWebStream(chunks, body), { status, headers });
  headers.set('content-type', 'application/json');
  return Object.assign(new Response(null, { status, headers }), { json: async () => answer });
}

/** Reads up to the first event with data. Whatever cannot be judged from it is left to the SDK, from the first byte on. */
function readStart(body: Readable): Promise<{ chunks: Buffer[]; answer: unknown }> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const decoder = new StringDecoder('utf8');
    let first: { event?: string | undefined; data: string } | undefined;
    // Events without data only give the place in the stream a name.
    const parser = createParser({ onEvent: (event) => (first ??= event.data === '' ? undefined : event) });
    const stop = () => {
      body.off('data', take).off('end', stop).off('error', stop).pause();
      const answer = first && (first.event ?? 'message') === 'message' ? answerIn(first.data) : undefined;
      // What comes after the answer is read and dropped, so that the connection can be used again.
      if (answer !== undefined) body.resume();
      resolve({ chunks, answer });
    };
    const take = (chunk: Buffer) => {
      chunks.push(chunk);
      parser.feed(decoder.write(chunk));
      if (first !== undefined) stop();
    };
    body.on('data', take).once('end', stop).once('error', stop);
    // A connection may break at any time, also while nobody listens.
    body.on('error', () => undefined);
  });
}

/** A JSON-RPC answer; undefined for a request, a notice, and what is neither. */
function answerIn(data: string): unknown {
  try {
    const message: unknown = JSON.parse(data);
    const isAnswer = typeof message === 'object' && message !== null && ('result' in message || 'error' in message);
    return isAnswer ? message : undefined;
  } catch {
    return undefined;
  }
}

/** Passes on what has arrived, and what arrives as it arrives, no faster than it is read. */
function toWebStream(chunks: readonly Buffer[], body: Readable): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      if (body.errored) return controller.error(body.errored);
      if (body.readableEnded) return controller.close();
      body.on('data', (chunk: Buffer) => {
        controller.enqueue(chunk);
        if ((controller.desiredSize ?? 0) <= 0) body.pause();
      });
      body.once('end', () => controller.close());
      body.once('error', (error) => controller.error(error));
    },
    pull: () => void body.resume(),
    cancel: () => void body.destroy(),
  });
}

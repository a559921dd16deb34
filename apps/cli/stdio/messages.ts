import type { Readable } from 'node:stream';
import type { Response } from 'undici';
import { isObject, type Json, jsonIn, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { eventsOf } from './upstream.ts';

const NEWLINE = 0x0a;

/** A message as it came, and what it means. The text is passed on, so that no number and no text in it changes. */
export interface Message {
  readonly text: string;
  readonly value: unknown;
}

/** Where a stream can be taken up again. */
export interface Place {
  lastId?: string | undefined;
  retryMs: number;
}

/** The lines of a stream, as bytes, without empty ones. Only a line feed ends a line: JSON texts may have other line separators. */
export async function* linesOf(input: Readable): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  for await (const chunk of input) {
    let bytes = chunk as Buffer;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE)) {
      yield* filled(Buffer.concat([...rest, bytes.subarray(0, end)]));
      rest = [];
      bytes = bytes.subarray(end + 1);
    }
    rest.push(bytes);
  }
  yield* filled(Buffer.concat(rest));
}

const filled = (line: Buffer): Buffer[] => (line.toString('latin1').trim() === '' ? [] : [line]);

/** The messages of an answer over HTTP, each in one line. Text that is no JSON is left out. Throws when a stream breaks. */
export async function* messagesOf(answer: Response, place: Place): AsyncGenerator<Message> {
  const type = answer.headers.get('content-type') ?? '';
  if (!type.startsWith('text/event-stream')) return yield* messagesIn(await answer.text());
  for await (const { id, data } of eventsOf(answer, (ms) => (place.retryMs = ms))) {
    place.lastId = id ?? place.lastId;
    yield* messagesIn(data);
  }
}

function messagesIn(text: string): Message[] {
  const value = jsonIn(text);
  // Line breaks of JSON stand between its tokens only, so that a blank means the same.
  return typeof value === 'object' && value !== null ? [{ text: text.replaceAll(/[\r\n]+/g, ' ').trim(), value }] : [];
}

/** The single messages of a line. Revision 2025-03-26 has batches. */
export const eachOf = (value: unknown): JsonObject[] => (Array.isArray(value) ? value : [value]).filter(isObject);

/** Its id, if it is a request. */
export const requestIdOf = ({ id, method }: JsonObject): Json | undefined =>
  typeof method === 'string' && (typeof id === 'string' || typeof id === 'number') ? id : undefined;

/** The id that it answers, if it is an answer. */
export const answeredIdOf = (message: JsonObject): Json | undefined =>
  'result' in message || 'error' in message ? message['id'] : undefined;

import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Webhook } from 'standardwebhooks';
import { systemClock } from '../clock.ts';
import { clockFault, type Unsigned } from './signing-time.ts';

/** No dot, because dots separate id, time and body in the signed text. */
const ID = /^[A-Za-z0-9_-]{1,255}$/;
/** Decimal digits only: the library would also read `1674087231junk` as a time. */
const TIMESTAMP = /^[0-9]{1,12}$/;
/** Two keys overlap while one replaces the other; a longer list only costs time. */
const MAX_SIGNATURES = 5;

/** Headers of a JSON message that is signed according to Standard Webhooks. A repetition has the same id. */
export function signedHeaders(
  webhook: Webhook,
  { id, body, at }: { id: string; body: string; at: Date },
): Record<string, string> {
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': webhook.sign(id, at, body),
  };
}

export interface SignedMessage {
  readonly webhookId: string;
  readonly text: string;
}

const NOT_VALID: Unsigned = {
  fault: 'the signature is not valid',
  nextStep: 'Sign the raw body as Standard Webhooks describes.',
};

/**
 * The message in a request with a Standard Webhooks signature over its raw bytes, made within five minutes of now. The reason for any
 * other request. The receiver has to recognize a message that it has seen before.
 */
export function readSignedMessage(
  webhook: Webhook,
  raw: unknown,
  headers: IncomingHttpHeaders,
): SignedMessage | Unsigned {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers;
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signature !== 'string') return NOT_VALID;
  if (!ID.test(id) || !TIMESTAMP.test(timestamp) || signature.split(' ').length > MAX_SIGNATURES) return NOT_VALID;
  const text = Buffer.isBuffer(raw) ? textIn(raw) : undefined;
  if (text === undefined) return NOT_VALID;
  try {
    const signed = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
    webhook.verify(text, signed, { jsonParse: false });
    return { webhookId: id, text };
  } catch {
    const at = Number(timestamp);
    const expected = webhook.sign(id, new Date(at * 1_000), text);
    // The library refuses an old message before it looks at the signature, by the clock of the system.
    return (isAmong(signature, expected) && clockFault(at, systemClock.now())) || NOT_VALID;
  }
}

/** Different bytes must not become the same text, so invalid UTF-8 has none and a byte order mark is kept. */
function textIn(raw: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(raw);
  } catch {
    return undefined;
  }
}

function isAmong(signatures: string, expected: string): boolean {
  const bytes = Buffer.from(expected);
  return signatures.split(' ').some((one) => {
    const given = Buffer.from(one);
    return given.length === bytes.length && timingSafeEqual(given, bytes);
  });
}

import type { IncomingHttpHeaders } from 'node:http';
import type { Webhook } from 'standardwebhooks';

/** No dot: it is what parts id, time and body in the signed text. */
const ID = /^[A-Za-z0-9_-]{1,255}$/;
/** Decimal digits alone: the library would read `1674087231junk` as a time, too. */
const TIMESTAMP = /^[0-9]{1,12}$/;
/** Two keys overlap while one replaces the other; a long list only costs time. */
const MAX_SIGNATURES = 5;

/** Headers of a JSON message, signed as Standard Webhooks asks. The id tells a repetition from another message. */
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
  /** The body, whose bytes were signed. */
  readonly text: string;
}

/**
 * The message in a request that carries a Standard Webhooks signature over its raw bytes, made within five minutes of
 * now. Undefined for anything else. Whether the message was seen before is for the receiver to know.
 */
export function readSignedMessage(
  webhook: Webhook,
  raw: unknown,
  headers: IncomingHttpHeaders,
): SignedMessage | undefined {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers;
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signature !== 'string') return undefined;
  if (!ID.test(id) || !TIMESTAMP.test(timestamp) || signature.split(' ').length > MAX_SIGNATURES) return undefined;
  if (!Buffer.isBuffer(raw)) return undefined;
  try {
    // Different bytes must not become the same text, so invalid UTF-8 is refused and a byte order mark is kept.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(raw);
    const signed = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
    webhook.verify(text, signed, { jsonParse: false });
    return { webhookId: id, text };
  } catch {
    return undefined;
  }
}

import type { IncomingHttpHeaders } from 'node:http';
import type { Webhook } from 'standardwebhooks';

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

/**
 * The message in a request with a Standard Webhooks signature over its raw bytes, made within five minutes of now. Undefined for
 * any other request. The receiver has to recognize a message that it has seen before.
 */
export function readSignedMessage(
  webhook: Webhook,
  raw: unknown,
  headers: IncomingHttpHeaders,
): { readonly webhookId: string; readonly text: string } | undefined {
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

const encoder = new TextEncoder();
/** After how long a client comes back, in milliseconds. */
const RETRY_MS = 2_000;

/** Sends the headers at once: a client waits for them. */
export const QUIET_START = encoder.encode(': \n\n');

/** One message of a stream. Its id names the stream and its place in it. */
export const renderEvent = (id: string, message: object): Uint8Array =>
  encoder.encode(`id: ${id}\nevent: message\ndata: ${JSON.stringify(message)}\n\n`);

/** An event without data, from which a client can resume before the first message. @see SEP-1699 */
export const primingEvent = (id: string): Uint8Array => encoder.encode(`id: ${id}\nretry: ${RETRY_MS}\ndata: \n\n`);

/** An error that is about no request of the body. The order of members is the SDK's: hosts compare the text. */
export const refusal = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });

/** The SDK's code for errors of the transport. */
const TRANSPORT_ERROR = -32_000;

/** The refusal of a request that does not accept what the answer may be, or whose body is not JSON. The texts are the SDK's. */
export function acceptedBy(request: Request, body?: unknown): Response | undefined {
  const accept = request.headers.get('accept') ?? '';
  if (request.method === 'GET') {
    if (accept.includes('text/event-stream')) return undefined;
    return refusal(406, TRANSPORT_ERROR, 'Not Acceptable: Client must accept text/event-stream');
  }
  if (!accept.includes('application/json') || !accept.includes('text/event-stream')) {
    const message = 'Not Acceptable: Client must accept both application/json and text/event-stream';
    return refusal(406, TRANSPORT_ERROR, message);
  }
  // Only JSON is parsed.
  if (body !== undefined) return undefined;
  return refusal(415, TRANSPORT_ERROR, 'Unsupported Media Type: Content-Type must be application/json');
}

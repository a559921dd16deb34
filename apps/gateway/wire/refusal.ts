import type { ProtocolError, RequestId } from '@modelcontextprotocol/server';
import { MISSING_CAPABILITY, TOO_MANY_REQUESTS } from './identifiers.ts';

/** An error that is answered before the protocol layer has seen the request, or in its place. */
export function refusal(id: RequestId, { code, message, data }: ProtocolError): Response {
  const error = { code, message, ...(data !== undefined && { data }) };
  return Response.json({ jsonrpc: '2.0', id, error }, { status: code === MISSING_CAPABILITY ? 400 : 200 });
}

/** Tells a client to come again later. `waitMs` is rounded up to whole seconds, as the header has them. */
export function tooManyRequests(id: RequestId | null, message: string, waitMs: number): Response {
  return Response.json(
    { jsonrpc: '2.0', id, error: { code: TOO_MANY_REQUESTS, message } },
    { status: TOO_MANY_REQUESTS, headers: { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1_000))) } },
  );
}

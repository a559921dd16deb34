import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { AuthInfo } from '@modelcontextprotocol/server';
import type { Request as ExpressRequest, RequestHandler, Response as ExpressResponse } from 'express';
import { inLogScope, newTrace, traceIn, type LogScope } from '../../shared/log-scope.ts';
import { callerOf } from '../caller.ts';
import type { Front } from '../front.ts';
import { TRACEPARENT_META } from './identifiers.ts';

/**
 * Hands requests whose bodies are parsed to the protocol layer, and writes its answers. The SDK's own adapter serialises
 * each body again and sends every answer in chunks; on the path of a call that is allowed, that is what costs most.
 */
export function serveProtocol(front: Front): RequestHandler {
  return async (request, response) => {
    const gone = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) gone.abort();
    });
    const { auth } = request as ExpressRequest & { auth?: AuthInfo };
    const body: unknown = request.body;
    await inLogScope(scopeOf(request, body, auth), async () => {
      const answer = await front.fetch(toWebRequest(request, gone.signal), {
        ...(auth !== undefined && { authInfo: auth }),
        ...(body !== undefined && { parsedBody: body }),
      });
      await write(answer, response);
    });
  };
}

/**
 * The trace that the client names in the metadata of the message or in a header, else a new one; and who calls. @see SEP-414
 */
function scopeOf(request: ExpressRequest, body: unknown, auth: AuthInfo | undefined): LogScope {
  const { params } = (body ?? {}) as { params?: { _meta?: Record<string, unknown> | null } | null };
  const named = traceIn(params?._meta?.[TRACEPARENT_META]) ?? traceIn(request.get(TRACEPARENT_META));
  const caller = auth === undefined ? undefined : callerOf(auth);
  return { trace: named ?? newTrace(), subject: caller?.subject, client: caller?.clientId };
}

/** Without its body, which the protocol layer gets as it was parsed. */
function toWebRequest(request: ExpressRequest, signal: AbortSignal): Request {
  const headers: [name: string, value: string][] = [];
  for (const [name, value] of Object.entries(request.headers)) {
    for (const item of Array.isArray(value) ? value : [value ?? '']) headers.push([name, item]);
  }
  return new Request(`http://${request.headers.host ?? 'localhost'}${request.url}`, {
    method: request.method,
    headers,
    signal,
  });
}

async function write(answer: Response, response: ExpressResponse): Promise<void> {
  response.status(answer.status);
  answer.headers.forEach((value, name) => {
    // The SDK's own for streams lets them be stored.
    if (name !== 'cache-control') response.setHeader(name, value);
  });
  if (answer.body === null || answer.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    response.end(await answer.text());
    return;
  }
  // A client that leaves a stream early is no fault of ours; the stream is given up with it.
  await pipeline(Readable.fromWeb(answer.body as never), response).catch(() => undefined);
}

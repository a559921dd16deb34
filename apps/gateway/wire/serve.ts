import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { AuthInfo } from '@modelcontextprotocol/server';
import type { Request as ExpressRequest, RequestHandler, Response as ExpressResponse } from 'express';
import type { Front } from '../front.ts';

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
    const answer = await front.fetch(toWebRequest(request, gone.signal), {
      ...(auth !== undefined && { authInfo: auth }),
      ...(request.body !== undefined && { parsedBody: request.body as unknown }),
    });
    await write(answer, response);
  };
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

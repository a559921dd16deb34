import type { RequestHandler } from 'express';

const METHODS = 'GET, POST, DELETE';
const READABLE = 'WWW-Authenticate, Mcp-Session-Id, Mcp-Protocol-Version, Retry-After';
const MAX_AGE_SECONDS = '600';
/** Request headers of MCP clients. */
const ALLOWED = ['authorization', 'content-type', 'accept', 'last-event-id', 'traceparent'];
const isAllowed = (name: string) => ALLOWED.includes(name) || name.startsWith('mcp-');

/**
 * Lets the pages whose origin was accepted before call the MCP endpoint, such as the MCP Inspector on this machine. Browsers send no
 * credential by themselves, since the endpoint takes only an `Authorization` header. A preflight request has no token, so it is answered
 * before the token is checked.
 * @see Fetch Standard, CORS protocol
 */
export const allowAcceptedOrigin: RequestHandler = (request, response, next) => {
  const { origin } = request.headers;
  if (origin === undefined) return next();
  response.vary('Origin');
  response.set({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': READABLE });
  if (request.method !== 'OPTIONS' || request.get('Access-Control-Request-Method') === undefined) return next();
  const wanted = (request.get('Access-Control-Request-Headers') ?? '').toLowerCase().split(',');
  const headers = wanted.map((name) => name.trim()).filter(isAllowed);
  response.set({
    'Access-Control-Allow-Methods': METHODS,
    'Access-Control-Allow-Headers': headers.join(', '),
    'Access-Control-Max-Age': MAX_AGE_SECONDS,
  });
  response.status(204).end();
};

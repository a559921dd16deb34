import { hostHeaderValidation, originValidation } from '@modelcontextprotocol/express';
import type { AuthInfo } from '@modelcontextprotocol/server';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request as ExpressRequest,
  type RequestHandler,
  type Response as ExpressResponse,
} from 'express';
import type { Logger } from 'pino';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isObject, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { TokenVerifier } from '../../shared/auth/access-token.ts';
import { CALLBACK_PATH, HELD_CALL_PATH, PREVIEWS_PATH, type Config } from '../../shared/config/config.ts';
import { apiHeaders } from '../../shared/http/page-headers.ts';
import { bodyFaultOf, refuseUnfaithful } from '../../shared/http/faithful-json.ts';
import { healthRouter } from '../../shared/http/health.ts';
import { hostsOf } from '../../shared/http/known-hosts.ts';
import type { Timing } from '../../shared/limits.ts';
import type { Need } from '../../shared/needs.ts';
import { authenticate, callerOf, demandScopes } from './authentication.ts';
import { allowAcceptedOrigin } from './cors.ts';
import type { McpEndpoint } from './request-limits.ts';
import { resourceRouter } from './resource.ts';
import { type ReadDocument, serveCard } from '../extensions/signature.ts';
import { INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, TRACEPARENT_META } from '../wire/identifiers.ts';
import { answerToUnkeptValue } from '../wire/errors.ts';
import { inLogScope, newTrace, traceIn, type LogScope } from '../../shared/log-scope.ts';

const MCP_PATH = '/mcp';
const CARD_PATH = '/signature';
const MAX_CALLBACK_BYTES = 64 * 1024;

export interface GatewayHttp extends Timing {
  readonly config: Pick<Config, 'mode' | 'host' | 'urls' | 'gateway' | 'tools' | 'identity'>;
  readonly endpoint: McpEndpoint;
  readonly readDocument: ReadDocument;
  readonly verifier: TokenVerifier;
  readonly receiveCallback: RequestHandler;
  readonly answerPreviewQuestions: RequestHandler;
  /** Missing where the operator switched the pages of held calls off. */
  readonly serveHeldCallPage?: RequestHandler | undefined;
  /** What the gateway needs. Default: nothing. */
  readonly needs?: readonly Need[] | undefined;
  readonly log: Logger;
}

/** The gateway's routes. The order of checks is host, origin, token, body, protocol. */
export function createGatewayApp({
  config,
  endpoint,
  readDocument,
  verifier,
  receiveCallback,
  answerPreviewQuestions,
  serveHeldCallPage,
  needs = [],
  clock,
  limits,
  log,
}: GatewayHttp): Express {
  const app = express();
  app.disable('etag');
  app.use(apiHeaders());
  app.use(healthRouter(needs, { clock, limits }));
  // First, against DNS rebinding: a page of another site, whose name resolves to this host, still names that site.
  const hosts = [...hostsOf(config.host, [config.urls.gateway])];
  app.use(hostHeaderValidation(hosts));
  app.use(resourceRouter(config));
  // A browser comes from any site: the page changes nothing, and no script of another site can read it.
  if (serveHeldCallPage !== undefined) app.get(`${HELD_CALL_PATH}/:reference`, serveHeldCallPage);
  app.use(originValidation([...hosts, ...config.gateway.allowedOrigins]));
  const raw = express.raw({ type: () => true, limit: MAX_CALLBACK_BYTES });
  app.post(CALLBACK_PATH, raw, receiveCallback);
  app.post(PREVIEWS_PATH, raw, answerPreviewQuestions);

  const authenticated = authenticate({ config, verifier, log });
  app.get(CARD_PATH, authenticated, serveCard(readDocument));
  app.all(
    MCP_PATH,
    notStored,
    allowAcceptedOrigin,
    authenticated,
    express.json({ limit: config.gateway.maxBodyBytes, strict: false, verify: refuseUnfaithful }),
    demandScopes({ config }),
    serveProtocol(endpoint),
  );
  app.use((_request, response) => void response.status(404).json({ error: 'not found' }));
  app.use(toErrorResponse(log));
  return app;
}

/**
 * Each answer is for its caller, and is fresh only now: the `ttlMs` of a task is its retention, not a cache lifetime. @see CACHE-008
 */
const notStored: RequestHandler = (_request, response, next) => {
  response.setHeader('cache-control', 'no-store');
  next();
};

/** The one place where errors become responses. An unexpected error is logged, and the response has no details of it. */
function toErrorResponse(log: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) return next(error);
    const answer = answerToUnkeptValue(error);
    if (answer !== undefined) return void response.json(answer);
    const fault = bodyFaultOf(error);
    if (fault === undefined) log.error({ err: error }, 'unexpected error while serving a request');
    const shown =
      fault === undefined
        ? { code: INTERNAL_ERROR, message: 'Internal error' }
        : fault.kind === 'malformed'
          ? { code: PARSE_ERROR, message: `Parse error: ${fault.message}` }
          : { code: INVALID_REQUEST, message: `Invalid request: ${fault.message}` };
    response.status(fault?.status ?? 500).json({ jsonrpc: '2.0', id: null, error: shown });
  };
}

/**
 * Passes requests with parsed bodies to the protocol layer, and writes its answers. The SDK's own adapter serialises each body again and
 * sends every answer in chunks, which costs most on the path of an allowed call.
 */
function serveProtocol(endpoint: McpEndpoint): RequestHandler {
  return async (request, response) => {
    const gone = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) gone.abort();
    });
    const { auth } = request as ExpressRequest & { auth?: AuthInfo };
    const body = withoutNulls(request.body);
    await inLogScope(scopeOf(request, body, auth), async () => {
      const answer = await endpoint.fetch(toWebRequest(request, gone.signal), {
        ...(auth !== undefined && { authInfo: auth }),
        ...(body !== undefined && { parsedBody: body }),
      });
      await write(answer, response);
    });
  };
}

/** Members that are objects where they are there. Many languages write `null` for one that is absent. */
const ABSENT_IF_NULL = ['params', 'arguments', '_meta'];

/** A message, or several, without these members where they are `null`: in the message, and in its parameters. */
function withoutNulls(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(withoutNulls);
  if (!isObject(body)) return body;
  const { params } = body;
  return present({ ...body, ...(isObject(params) && { params: present(params) }) });
}

const present = (object: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(object).filter(([name, value]) => value !== null || !ABSENT_IF_NULL.includes(name)),
  );

/** The caller, and the trace from the message's metadata or a header, otherwise a new trace. @see SEP-414 */
function scopeOf(request: ExpressRequest, body: unknown, auth: AuthInfo | undefined): LogScope {
  const { params } = (body ?? {}) as { params?: { _meta?: Record<string, unknown> | null } | null };
  const named = traceIn(params?._meta?.[TRACEPARENT_META]) ?? traceIn(request.get(TRACEPARENT_META));
  const caller = auth === undefined ? undefined : callerOf(auth);
  return { trace: named ?? newTrace(), subject: caller?.subject, client: caller?.clientId };
}

/** Without the body: the protocol layer gets the parsed one. */
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
    // The SDK's value for streams allows caches to store them.
    if (name !== 'cache-control') response.setHeader(name, value);
  });
  if (answer.body === null || answer.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    response.end(await answer.text());
    return;
  }
  // A client may leave a stream early. Then the stream ends without an error.
  await pipeline(Readable.fromWeb(answer.body as never), response).catch(() => undefined);
}

import { hostHeaderValidation, originValidation } from '@modelcontextprotocol/express';
import {
  buildOAuthProtectedResourceMetadata,
  getOAuthProtectedResourceMetadataUrl,
  type AuthInfo,
} from '@modelcontextprotocol/server';
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
import { allScopes } from '../../shared/auth/client-credentials.ts';
import type { TokenVerifier } from '../../shared/auth/access-token.ts';
import { CALLBACK_PATH, type Config } from '../../shared/config/config.ts';
import { apiHeaders } from '../../shared/http/page-headers.ts';
import { type BodyFault, bodyFaultOf, refuseUnfaithful } from '../../shared/http/faithful-json.ts';
import { healthRouter, type Problems } from '../../shared/http/health.ts';
import { hostsOf } from '../../shared/http/known-hosts.ts';
import type { Timing } from '../../shared/limits.ts';
import { authenticate, callerOf, demandScopes } from './authentication.ts';
import type { McpEndpoint } from './request-limits.ts';
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
  /** What keeps it from its work. Default: nothing does. */
  readonly problems?: Problems | undefined;
  readonly log: Logger;
}

/** The gateway's routes. Checks come in the order host, origin, token, body, and only then the protocol. */
export function createGatewayApp({
  config,
  endpoint,
  readDocument,
  verifier,
  receiveCallback,
  problems = async () => [],
  clock,
  limits,
  log,
}: GatewayHttp): Express {
  const app = express();
  app.disable('etag');
  app.use(apiHeaders());
  app.use(healthRouter(problems, { clock, limits }));
  // Refused before anything else is looked at: a page of another site, made to look like this host by its name service, names that site.
  const hosts = [...hostsOf(config.host, [config.urls.gateway])];
  app.use(hostHeaderValidation(hosts), originValidation(hosts));
  app.post(CALLBACK_PATH, express.raw({ type: () => true, limit: MAX_CALLBACK_BYTES }), receiveCallback);

  const resource = new URL(config.urls.mcp);
  const metadata = resourceMetadata(config, resource);
  app.get(
    new URL(getOAuthProtectedResourceMetadataUrl(resource)).pathname,
    (_request, response) => void response.json(metadata),
  );

  const authenticated = authenticate({ config, verifier, log });
  app.get(CARD_PATH, authenticated, serveCard(readDocument));
  app.all(
    MCP_PATH,
    notStored,
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
 * Each answer is for its caller and this moment only: `ttlMs` of a task says how long it is kept, not how long an answer is
 * fresh. @see CACHE-008
 */
const notStored: RequestHandler = (_request, response, next) => {
  response.setHeader('cache-control', 'no-store');
  next();
};

/** Tells clients which authorization server issues tokens for this resource. @see RFC 9728 */
function resourceMetadata(config: GatewayHttp['config'], resource: URL) {
  const { mode, urls } = config;
  return buildOAuthProtectedResourceMetadata({
    resourceServerUrl: resource,
    resourceName: 'Countersign',
    scopesSupported: [...allScopes(config)],
    // Only the issuer is published; clients read its endpoints from the issuer itself.
    oauthMetadata: {
      issuer: urls.issuer,
      authorization_endpoint: urls.issuer,
      token_endpoint: urls.issuer,
      response_types_supported: ['code'],
    },
    dangerouslyAllowInsecureIssuerUrl: mode === 'development',
  });
}

/** The one place where errors become responses. Nothing of an unexpected error but its place in the log is shown. */
function toErrorResponse(log: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) return next(error);
    const answer = answerToUnkeptValue(error);
    if (answer !== undefined) return void response.json(answer);
    const fault = bodyFaultOf(error);
    if (fault === undefined) log.error({ err: error }, 'unexpected error while serving a request');
    const [status, code, message] = readableFault(fault);
    response.status(status).json({ jsonrpc: '2.0', id: null, error: { code, message } });
  };
}

function readableFault(fault: BodyFault | undefined): [status: number, code: number, message: string] {
  if (fault === undefined) return [500, INTERNAL_ERROR, 'Internal error'];
  const { kind, status, message } = fault;
  return kind === 'malformed'
    ? [status, PARSE_ERROR, `Parse error: ${message}`]
    : [status, INVALID_REQUEST, `Invalid request: ${message}`];
}

/**
 * Hands requests whose bodies are parsed to the protocol layer, and writes its answers. The SDK's own adapter serialises
 * each body again and sends every answer in chunks; on the path of a call that is allowed, that is what costs most.
 */
export function serveProtocol(endpoint: McpEndpoint): RequestHandler {
  return async (request, response) => {
    const gone = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) gone.abort();
    });
    const { auth } = request as ExpressRequest & { auth?: AuthInfo };
    const body: unknown = request.body;
    await inLogScope(scopeOf(request, body, auth), async () => {
      const answer = await endpoint.fetch(toWebRequest(request, gone.signal), {
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

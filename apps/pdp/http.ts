import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from 'express';
import type { JSONWebKeySet } from 'jose';
import type { Logger } from 'pino';
import { apiHeaders } from '../shared/http/api-headers.ts';
import { bearerOnly } from '../shared/http/bearer.ts';
import { bodyFaultOf } from '../shared/http/body-fault.ts';
import { decideBatch } from './batch.ts';
import type { Decide } from './decide.ts';
import { basePath, EVALUATION_PATH, EVALUATIONS_PATH, JWKS_PATH, metadataPath } from './metadata.ts';
import { RECORDED_DENIALS_PATH } from './recorded-denials.ts';
import { REQUEST_SCHEMAS_PATH, type RequestSchemas } from './request-schemas.ts';
import { BadRequest, checkDepth, readBatch, readEvaluation } from './requests.ts';

export interface PdpHttp {
  /** Does what one HTTP request wants with the policies in force, of which none changes meanwhile. */
  readonly withPolicies: <T>(work: (policies: { decide: Decide }) => Promise<T>) => Promise<T>;
  /** What operators may know of it beside that it runs. */
  readonly status?: () => object;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly keys: () => Promise<JSONWebKeySet>;
  readonly requestSchemas: Pick<RequestSchemas, 'find'>;
  /** What is on record of denials, for the access request service. */
  readonly recordedDenials?: express.Router;
  /** The PDP's identifier, which is also the realm of its credentials. */
  readonly url: string;
  /** Bearer token of the one enforcement point, and the name it is known by. */
  readonly token: string;
  readonly requester: string;
  readonly maxBodyBytes: number;
  readonly log: Logger;
}

const PUBLIC_DOCUMENT = 'public, max-age=300';

/** The HTTPS and JSON binding of AuthZEN 1.0. Errors speak about the request or its credentials, never about access. */
export function createPdpApp(http: PdpHttp): Express {
  const app = express();
  app.disable('etag');
  app.use(apiHeaders(), echoRequestId);
  app.get('/healthz', (_request, response) => {
    response.json({ status: 'ok', ...http.status?.() });
  });
  app.get(metadataPath(http.url), (_request, response) => {
    response.set('Cache-Control', PUBLIC_DOCUMENT).json(http.metadata);
  });
  app.use(basePath(http.url) || '/', createApi(http));
  app.use((_request, response) => sendError(response, 404, 'not found'));
  app.use(toErrorResponse(http.log));
  return app;
}

function createApi(http: PdpHttp): express.Router {
  const guarded = [
    authenticate(http),
    requireJson,
    express.json({ limit: http.maxBodyBytes, strict: false }),
    limitDepth,
  ];
  const api = express.Router();
  api.get(JWKS_PATH, async (_request, response) => {
    response.set('Cache-Control', PUBLIC_DOCUMENT).json(await http.keys());
  });
  api.get(`${REQUEST_SCHEMAS_PATH}/:name`, (request, response, next) => {
    const schema = http.requestSchemas.find(request.params.name);
    if (schema === undefined) return next();
    response.set('Cache-Control', PUBLIC_DOCUMENT).type('application/schema+json').send(schema);
  });
  if (http.recordedDenials) api.use(RECORDED_DENIALS_PATH, http.recordedDenials);
  api.post(EVALUATION_PATH, guarded, async (request: express.Request, response: Response) => {
    const asked = readEvaluation(request.body);
    sendDecision(response, await http.withPolicies(({ decide }) => decide(asked, http.requester)));
  });
  api.post(EVALUATIONS_PATH, guarded, async (request: express.Request, response: Response) => {
    const { requester } = http;
    const answer = await http.withPolicies(async ({ decide }) => {
      const batch = readBatch(request.body);
      if (!batch) return await decide(readEvaluation(request.body), requester);
      return await decideBatch(batch, (one) => decide(one, requester));
    });
    sendDecision(response, answer);
  });
  return api;
}

const echoRequestId: RequestHandler = (request, response, next) => {
  const id = request.get('X-Request-ID');
  if (id !== undefined) response.set('X-Request-ID', id);
  next();
};

function authenticate({ token, url }: PdpHttp): RequestHandler {
  return bearerOnly({ token, realm: url }, (why, response) => {
    sendError(response, 401, why === 'missing' ? 'a bearer token is required' : 'the bearer token is not valid');
  });
}

/** The certification scenario demands 400, not 415, for another content type (AZ-TR-03). */
const requireJson: RequestHandler = (request, _response, next) => {
  const type = request.get('Content-Type')?.split(';')[0]?.trim().toLowerCase();
  next(type === 'application/json' ? undefined : new BadRequest('the content type is not application/json'));
};

const limitDepth: RequestHandler = (request, _response, next) => {
  checkDepth(request.body);
  next();
};

function sendDecision(response: Response, body: object): void {
  response.set('Cache-Control', 'no-store').json(body);
}

function sendError(response: Response, status: number, message: string): void {
  response.status(status).type('text/plain').set('Cache-Control', 'no-store').send(message);
}

function toErrorResponse(log: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) return next(error);
    if (error instanceof BadRequest) return sendError(response, 400, error.message);
    const fault = bodyFaultOf(error);
    if (fault) return sendError(response, fault.status, fault.message);
    log.error({ err: error }, 'an evaluation failed');
    sendError(response, 500, 'internal error');
  };
}

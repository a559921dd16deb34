import { randomUUID } from 'node:crypto';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { isDatabaseAway } from '../../../workflows/domain/errors.ts';
import { isServiceToken } from '../../shared/auth/signing-key.ts';
import type { Clock } from '../../shared/clock.ts';
import { apiHeaders } from '../../shared/http/page-headers.ts';
import { bearerAmong, bearerHolderOf, bearerTokenOf, challenge } from '../../shared/http/bearer.ts';
import { bodyFaultOf, refuseUnfaithfulOfService } from '../../shared/http/faithful-json.ts';
import { healthRouter, traced } from '../../shared/http/health.ts';
import type { Timing } from '../../shared/limits.ts';
import type { Need } from '../../shared/needs.ts';
import type { Decide } from '../decide.ts';
import type { PolicyEngine } from '../engine/policy-engine.ts';
import type { SignBindingToken } from '../offer/binding-token.ts';
import { REQUEST_CATALOGS_PATH, REQUEST_SCHEMAS_PATH, type RequestCatalogs } from '../offer/request-documents.ts';
import { type createSearch, readSearch, SEARCH_KINDS } from '../search.ts';
import type { EvaluationStore } from '../stores/evaluation.store.ts';
import {
  basePath,
  type EnforcementPoint,
  EVALUATION_PATH,
  EVALUATIONS_PATH,
  JWKS_PATH,
  metadataPath,
  type createLimits,
  SEARCH_PATHS,
  TooMany,
} from './metadata.ts';
import { BadRequest, decideBatch, readBatch, readEvaluation, requestsAreRead } from './requests.ts';

export interface PdpHttp extends Timing {
  /** Every HTTP request is answered by one version of the policies. */
  readonly engine: Pick<PolicyEngine, 'use' | 'findRequestSchema' | 'status'>;
  readonly decide: Decide;
  readonly search: ReturnType<typeof createSearch>;
  /** What the PDP needs. Default: nothing. */
  readonly needs?: readonly Need[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly keys: () => Promise<JSONWebKeySet>;
  readonly requestCatalogs: Pick<RequestCatalogs, 'find'>;
  /** Default: recorded denials cannot be fetched. */
  readonly recordedDenials?: RecordedDenials;
  /** The PDP's identifier, which is also the realm of its credentials. */
  readonly url: string;
  readonly enforcementPoints: readonly EnforcementPoint[];
  readonly rates: ReturnType<typeof createLimits>;
  readonly maxBatchEntries: number;
  readonly maxBodyBytes: number;
  readonly log: Logger;
}

export interface RecordedDenials {
  readonly evaluations: Pick<EvaluationStore, 'find'>;
  readonly signBindingToken: SignBindingToken;
  /** The access request service, as it signs, and its keys. No other caller may fetch a denial. */
  readonly reader: { readonly issuer: string; readonly keys: JWTVerifyGetKey; readonly clock: Clock };
}

const RECORDED_DENIALS_PATH = '/access/v1/denials';
const PUBLIC_DOCUMENT = 'public, max-age=300';
const TRY_AGAIN_SECONDS = 5;

/** The HTTPS and JSON binding of AuthZEN 1.0. Errors speak about the request or its credentials, never about access. */
export function createPdpApp(http: PdpHttp): Express {
  const app = express();
  app.disable('etag');
  app.use(apiHeaders(), identify, traced);
  app.use(healthRouter(http.needs ?? [], http, () => http.engine.status()));
  app.get(metadataPath(http.url), (_request, response) => {
    response.set('Cache-Control', PUBLIC_DOCUMENT).json(http.metadata);
  });
  app.use(basePath(http.url) || '/', createApi(http), createDocuments(http));
  app.use((_request, response) => sendError(response, 404, 'not found'));
  app.use(toErrorResponse(http.log));
  return app;
}

/** What can be fetched: by everyone, except for recorded denials. */
function createDocuments(http: PdpHttp): express.Router {
  const documents = express.Router();
  documents.get(JWKS_PATH, async (_request, response) => {
    response.set('Cache-Control', PUBLIC_DOCUMENT).json(await http.keys());
  });
  documents.get(`${REQUEST_SCHEMAS_PATH}/:name`, (request, response, next) => {
    const schema = http.engine.findRequestSchema(request.params.name);
    if (schema === undefined) return next();
    response.set('Cache-Control', PUBLIC_DOCUMENT).type('application/schema+json').send(schema);
  });
  documents.get(`${REQUEST_CATALOGS_PATH}/:template/:evaluation`, ({ params }, response, next) => {
    const document = http.requestCatalogs.find(params.template, params.evaluation);
    if (document === undefined) return next();
    response.set('Cache-Control', PUBLIC_DOCUMENT).json(document);
  });
  const { recordedDenials, url } = http;
  if (recordedDenials) documents.get(`${RECORDED_DENIALS_PATH}/:id`, sendRecordedDenial(recordedDenials, url));
  return documents;
}

/**
 * A recorded denial, for an access request service that has nothing but the id of the evaluation: its binding token, signed
 * anew, without an inline copy of the context, which is not recorded.
 * @see ARAP-SUB-13, ARAP-BND-19
 */
function sendRecordedDenial(
  { evaluations, signBindingToken, reader }: RecordedDenials,
  url: string,
): RequestHandler<{ id: string }> {
  return async (request, response) => {
    const token = bearerTokenOf(request);
    if (token === undefined || !(await isServiceToken(token, { ...reader, audience: url }))) {
      challenge(response, url, token === undefined ? undefined : 'invalid_token');
      return sendError(response, 401, 'only the access request service may ask');
    }
    const denial = await evaluations.find(request.params.id);
    if (denial === undefined) return sendError(response, 404, 'no such denial');
    response.set('Cache-Control', 'no-store').json({ binding_token: await signBindingToken(denial) });
  };
}

function createApi(http: PdpHttp): express.Router {
  const { engine, decide, search, rates } = http;
  const guarded = [
    bearerAmong({ holders: http.enforcementPoints, realm: http.url }, (why, response) =>
      sendError(response, 401, why === 'missing' ? 'a bearer token is required' : 'the bearer token is not valid'),
    ),
    rates.admit,
    requireJson,
    express.json({ limit: http.maxBodyBytes, strict: false, verify: refuseUnfaithfulOfService }),
  ];
  const api = express.Router();
  const post = (path: string, answer: (body: unknown, requester: string) => Promise<object>) =>
    api.post(path, guarded, async (request: Request, response: Response) => {
      await requestsAreRead();
      const body = await answer(request.body, bearerHolderOf<EnforcementPoint>(response).name);
      send(response.type('application/json'), JSON.stringify(body));
    });
  const evaluate = async (body: unknown, requester: string) => {
    const wanted = readEvaluation(body);
    return await engine.use((policies) => decide(policies, wanted, requester));
  };
  post(EVALUATION_PATH, evaluate);
  post(EVALUATIONS_PATH, async (body, requester) => {
    const batch = readBatch(body, http.maxBatchEntries);
    if (!batch) return await evaluate(body, requester);
    await rates.charge(requester, batch.entries.length - 1);
    return await engine.use((policies) => decideBatch(batch, (request) => decide(policies, request, requester)));
  });
  for (const kind of SEARCH_KINDS)
    post(SEARCH_PATHS[kind], async (body, requester) => {
      const wanted = readSearch(kind, body);
      return await engine.use((policies) => search(policies, wanted, requester));
    });
  return api;
}

/** The identifier of a request comes back as it was sent. A request without one gets one (AZ-TR-10). */
const identify: RequestHandler = (request, response, next) => {
  response.set('X-Request-ID', request.get('X-Request-ID') ?? randomUUID());
  next();
};

/** The certification scenario demands 400, not 415, for another content type (AZ-TR-03). */
const requireJson: RequestHandler = (request, _response, next) => {
  const type = request.get('Content-Type')?.split(';')[0]?.trim().toLowerCase();
  next(type === 'application/json' ? undefined : new BadRequest('the content type is not application/json'));
};

function sendError(response: Response, status: number, message: string): void {
  send(response.status(status).type('text/plain'), message);
}

/**
 * Node writes headers in the encoding of the text that comes with them. Any encoding but Latin-1 would change an identifier. In
 * Latin-1 an ASCII text is the same, so it goes out in one piece with the headers.
 */
function send(response: Response, text: string): void {
  const length = Buffer.byteLength(text);
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Content-Length', length);
  if (length === text.length) response.end(text, 'latin1');
  else response.end(Buffer.from(text));
}

function toErrorResponse(log: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) return next(error);
    if (error instanceof BadRequest) return sendError(response, 400, error.message);
    if (error instanceof TooMany) {
      response.set('Retry-After', String(error.retryAfterSeconds));
      return sendError(response, 429, error.message);
    }
    const fault = bodyFaultOf(error);
    if (fault) return sendError(response, fault.status, fault.message);
    log.error({ err: error }, 'a request could not be served');
    if (!isDatabaseAway(error)) return sendError(response, 500, 'internal error');
    response.set('Retry-After', String(TRY_AGAIN_SECONDS));
    sendError(response, 503, 'the records cannot be reached; ask again later');
  };
}

import { randomUUID } from 'node:crypto';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import type { JSONWebKeySet } from 'jose';
import type { Logger } from 'pino';
import { isDatabaseAway } from '../../workflows/domain/errors.ts';
import { apiHeaders } from '../shared/http/api-headers.ts';
import { bearerAmong, bearerHolderOf } from '../shared/http/bearer.ts';
import { bodyFaultOf } from '../shared/http/body-fault.ts';
import { refuseUnfaithfulOfService } from '../shared/http/faithful-json.ts';
import { healthRouter, type Problems } from '../shared/http/health.ts';
import { traced } from '../shared/http/traced.ts';
import type { Timing } from '../shared/limits.ts';
import { decideBatch } from './batch.ts';
import type { WithPolicies } from './decide-in-force.ts';
import type { EnforcementPoint } from './enforcement-points.ts';
import { TooMany, type RequestRates } from './limits.ts';
import { basePath, EVALUATION_PATH, EVALUATIONS_PATH, JWKS_PATH, metadataPath, SEARCH_PATHS } from './metadata.ts';
import { RECORDED_DENIALS_PATH } from './recorded-denials.ts';
import { REQUEST_CATALOGS_PATH, type RequestCatalogs } from './request-catalogs.ts';
import { REQUEST_SCHEMAS_PATH, type RequestSchemas } from './request-schemas.ts';
import { BadRequest, readBatch, readEvaluation } from './requests.ts';
import { readSearch, SEARCH_KINDS } from './search/search-requests.ts';
import { whenAllIsRead } from './turn.ts';

export interface PdpHttp extends Timing {
  /** Does what one HTTP request wants with the policies in force, of which none changes meanwhile. */
  readonly withPolicies: WithPolicies;
  /** What operators may know of it beside that it runs. */
  readonly status?: () => object;
  /** What keeps it from its work. Default: nothing does. */
  readonly problems?: Problems;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly keys: () => Promise<JSONWebKeySet>;
  readonly requestSchemas: Pick<RequestSchemas, 'find'>;
  readonly requestCatalogs: Pick<RequestCatalogs, 'find'>;
  /** What is on record of denials, for the access request service. */
  readonly recordedDenials?: express.Router;
  /** The PDP's identifier, which is also the realm of its credentials. */
  readonly url: string;
  /** Who may ask, each by the name that denials and approvals are bound to. */
  readonly enforcementPoints: readonly EnforcementPoint[];
  readonly rates: RequestRates;
  readonly maxBatchEntries: number;
  readonly maxBodyBytes: number;
  readonly log: Logger;
}

const PUBLIC_DOCUMENT = 'public, max-age=300';
const TRY_AGAIN_SECONDS = 5;

/** The HTTPS and JSON binding of AuthZEN 1.0. Errors speak about the request or its credentials, never about access. */
export function createPdpApp(http: PdpHttp): Express {
  const app = express();
  app.disable('etag');
  app.use(apiHeaders(), identify, traced);
  app.use(healthRouter(http.problems ?? (async () => []), http, http.status));
  app.get(metadataPath(http.url), (_request, response) => {
    response.set('Cache-Control', PUBLIC_DOCUMENT).json(http.metadata);
  });
  app.use(basePath(http.url) || '/', createApi(http), createDocuments(http));
  app.use((_request, response) => sendError(response, 404, 'not found'));
  app.use(toErrorResponse(http.log));
  return app;
}

/** What is read: by everybody, but for what is on record of denials. */
function createDocuments(http: PdpHttp): express.Router {
  const documents = express.Router();
  documents.get(JWKS_PATH, async (_request, response) => {
    response.set('Cache-Control', PUBLIC_DOCUMENT).json(await http.keys());
  });
  documents.get(`${REQUEST_SCHEMAS_PATH}/:name`, (request, response, next) => {
    const schema = http.requestSchemas.find(request.params.name);
    if (schema === undefined) return next();
    response.set('Cache-Control', PUBLIC_DOCUMENT).type('application/schema+json').send(schema);
  });
  documents.get(`${REQUEST_CATALOGS_PATH}/:template/:evaluation`, ({ params }, response, next) => {
    const document = http.requestCatalogs.find(params.template, params.evaluation);
    if (document === undefined) return next();
    response.set('Cache-Control', PUBLIC_DOCUMENT).json(document);
  });
  if (http.recordedDenials) documents.use(RECORDED_DENIALS_PATH, http.recordedDenials);
  return documents;
}

function createApi(http: PdpHttp): express.Router {
  const { withPolicies, rates } = http;
  const guarded = [
    authenticate(http),
    rates.admit,
    requireJson,
    express.json({ limit: http.maxBodyBytes, strict: false, verify: refuseUnfaithfulOfService }),
  ];
  const api = express.Router();
  const post = (path: string, answer: (body: unknown, requester: string) => Promise<object>) =>
    api.post(path, guarded, async (request: Request, response: Response) => {
      await whenAllIsRead();
      const body = await answer(request.body, bearerHolderOf<EnforcementPoint>(response).name);
      send(response.type('application/json'), JSON.stringify(body));
    });
  const evaluate = async (body: unknown, requester: string) => {
    const asked = readEvaluation(body);
    return await withPolicies(({ decide }) => decide(asked, requester));
  };
  post(EVALUATION_PATH, evaluate);
  post(EVALUATIONS_PATH, async (body, requester) => {
    const batch = readBatch(body, http.maxBatchEntries);
    if (!batch) return await evaluate(body, requester);
    await rates.charge(requester, batch.entries.length - 1);
    return await withPolicies(({ decide }) => decideBatch(batch, (request) => decide(request, requester)));
  });
  for (const kind of SEARCH_KINDS)
    post(SEARCH_PATHS[kind], async (body, requester) => {
      const wanted = readSearch(kind, body);
      return await withPolicies(({ search }) => {
        if (search === undefined) throw new BadRequest('what decides here cannot be searched');
        return search(wanted, requester);
      });
    });
  return api;
}

/** The identifier of a request comes back as it was sent; one without gets one (AZ-TR-10). */
const identify: RequestHandler = (request, response, next) => {
  response.set('X-Request-ID', request.get('X-Request-ID') ?? randomUUID());
  next();
};

function authenticate({ enforcementPoints, url }: PdpHttp): RequestHandler {
  return bearerAmong({ holders: enforcementPoints, realm: url }, (why, response) => {
    sendError(response, 401, why === 'missing' ? 'a bearer token is required' : 'the bearer token is not valid');
  });
}

/** The certification scenario demands 400, not 415, for another content type (AZ-TR-03). */
const requireJson: RequestHandler = (request, _response, next) => {
  const type = request.get('Content-Type')?.split(';')[0]?.trim().toLowerCase();
  next(type === 'application/json' ? undefined : new BadRequest('the content type is not application/json'));
};

function sendError(response: Response, status: number, message: string): void {
  send(response.status(status).type('text/plain'), message);
}

/**
 * Node writes headers in the encoding of a text that comes with them, and an identifier would come back changed unless that is Latin-1.
 * A text that has nothing but ASCII is the same in it, and goes out in one piece with them.
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

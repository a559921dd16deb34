import express, {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express';
import type { JSONWebKeySet } from 'jose';
import type { Logger } from 'pino';
import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import type { Bundle } from '../../../workflows/domain/access-request/statement.ts';
import { isDatabaseAway } from '../../../workflows/domain/errors.ts';
import type { ClientRight } from '../../shared/config/access-request-settings.ts';
import { bearerAmong, bearerHolderOf } from '../../shared/http/bearer.ts';
import { type BodyFault, bodyFaultOf, NOT_JSON, refuseUnfaithfulOfService } from '../../shared/http/faithful-json.ts';
import { noStore } from '../../shared/http/page-headers.ts';
import type { RateLimit } from '../../shared/http/address-limit.ts';
import { CATALOGS_PATH } from '../catalogs/catalogs.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import { type ApprovalStateOf, REVOCATIONS_TYPE } from './approval-state.ts';
import { ApiProblem, readCancellation, sendProblem } from './problem.ts';
import type { AccessRequestClient } from './clients.ts';
import { type BundleLimits, readIdempotencyKey, readSubmission } from './submission.ts';
import type { createSubmit } from './submit.ts';
import { requestsOf, statusBody, statusEndpoint, statusOf, type JustOpened, type TaskUrls } from './task.ts';

export interface AccessRequestHttp {
  readonly store: AccessRequestStore;
  readonly submit: ReturnType<typeof createSubmit>;
  readonly approvalState: ApprovalStateOf;
  /** Public keys that verify what we sign. */
  readonly keys: JSONWebKeySet;
  /** The signed list of revoked approvals. */
  readonly revocations: () => Promise<string>;
  /** Undefined without catalogs. */
  readonly catalog: RequestHandler | undefined;
  readonly urls: TaskUrls;
  readonly clients: readonly AccessRequestClient[];
  /** Limit for the requests of one client. */
  readonly rate: RateLimit;
  readonly maxBodyBytes: number;
  /** Undefined if submissions with several items are off. */
  readonly bundles: BundleLimits | undefined;
  readonly log: Logger;
}

/** `Retry-After` of a pending task: people need at least this long to decide. */
const LOOK_AGAIN_SECONDS = 5;
const MAX_CANCELLATION = '16kb';

/** The access request service as enforcement points use it, below `/access/v1`. @see ARAP */
export function accessRequestRouter(http: AccessRequestHttp): Router {
  const router = express.Router();
  const one = '/requests/:id';
  const api = { base: '/requests', one, cancel: `${one}/cancel`, resolution: `${one}/resolution` };
  router.get('/jwks', (_request, response) => {
    response.set('Cache-Control', 'public, max-age=300').json(http.keys);
  });
  router.get('/revocations', noStore, async (_request, response) => {
    response.type(REVOCATIONS_TYPE).send(await http.revocations());
  });
  router.use(['/requests', '/catalogs'], authenticate(http), noStore, limitRate(http));
  const body = (limit: number | string) => [
    requireJson,
    express.json({ limit, inflate: false, verify: refuseUnfaithfulOfService }),
  ];
  router.post(api.base, mayDo('submit'), body(http.maxBodyBytes), submit(http));
  router.get(api.one, mayDo('status'), show(http));
  router.get(api.resolution, mayDo('resolution'), showResolution(http));
  router.post(api.cancel, mayDo('cancel'), body(MAX_CANCELLATION), cancel(http));
  router.delete(api.cancel, mayDo('cancel'), body(MAX_CANCELLATION), cancel(http));
  if (http.catalog) router.get(CATALOGS_PATH, mayDo('submit'), http.catalog).all(CATALOGS_PATH, wrongMethod);
  router.all([api.base, api.one, api.cancel, api.resolution], wrongMethod);
  router.use((_request, _response, next) => next(new ApiProblem(404)));
  router.use(asProblem(http.log));
  return router;
}

const wrongMethod: RequestHandler = (_request, _response, next) => next(new ApiProblem(405));

function submit(http: AccessRequestHttp) {
  return async (request: Request, response: Response) => {
    const client = clientOf(response);
    const idempotencyKey = readIdempotencyKey(request.get('Idempotency-Key'));
    const shaped = readSubmission(request.body, client, http.bundles);
    const opened = await http.submit({ ...shaped, client, idempotencyKey });
    response.location(statusEndpoint(opened.id, http.urls));
    await sendStatus(http, response.status(statusOf(opened) === 'pending' ? 202 : 201), opened);
  };
}

function show(http: AccessRequestHttp) {
  return async (request: Request, response: Response) => {
    await sendStatus(http, response, await ownTask(http, request, clientOf(response)));
  };
}

/** Who resolved a task and how, for the audit record of the enforcement point. Statuses never contain it. */
function showResolution(http: AccessRequestHttp) {
  return async (request: Request, response: Response) => {
    const task = await ownTask(http, request, clientOf(response));
    const statements = await http.store.statementsOf(requestsOf(task).map(({ id }) => id));
    const [only] = statements;
    // Deleted since it was read.
    if (only === undefined) throw new ApiProblem('unknown_task');
    response.json('items' in task ? { id: task.id, items: statements } : only);
  };
}

function cancel(http: AccessRequestHttp) {
  return async (request: Request, response: Response) => {
    const client = clientOf(response);
    const why = readCancellation(request.body);
    const task = await ownTask(http, request, client);
    const note = { by: { client: client.name }, ...why };
    const by = { clientId: client.actsFor, note };
    const isBundle = 'items' in task;
    const outcome = isBundle ? await http.store.cancelBundle(task.id, by) : await http.store.cancel(task.id, by);
    if (outcome === 'final') throw new ApiProblem('invalid_task_state');
    await sendStatus(http, response, await ownTask(http, request, client));
  };
}

const clientOf = (response: Response) => bearerHolderOf<AccessRequestClient>(response);

/** Another client's task, one outside the client's scope and a missing one get the same answer. */
async function ownTask(
  { store }: AccessRequestHttp,
  request: Request,
  { actsFor, covers }: AccessRequestClient,
): Promise<AccessRequest | Bundle> {
  const task = await store.findTask(String(request.params['id']));
  if (task === undefined) throw new ApiProblem('unknown_task');
  const requests = requestsOf(task);
  if (!requests.every((one) => one.clientId === actsFor && covers(one))) throw new ApiProblem('unknown_task');
  if (requests.every(({ pastRetention }) => pastRetention === true)) throw new ApiProblem('task_expired');
  return task;
}

async function sendStatus(
  http: AccessRequestHttp,
  response: Response,
  task: AccessRequest | JustOpened | Bundle,
): Promise<void> {
  const { rights } = clientOf(response);
  if (statusOf(task) === 'pending') response.set('Retry-After', String(LOOK_AGAIN_SECONDS));
  const states = new Map<string, string>();
  if (rights.has('result')) {
    for (const one of requestsOf(task)) {
      if (one.status === 'approved') states.set(one.id, await http.approvalState(one));
    }
  }
  const may = { mayCancel: rights.has('cancel'), mayReadResolution: rights.has('resolution') };
  response.json(statusBody(task, { states, ...may }, http.urls));
}

function authenticate({ clients, urls }: AccessRequestHttp): RequestHandler {
  return bearerAmong({ holders: clients, realm: urls.accessRequests }, (_why, _response, next) =>
    next(new ApiProblem(401)),
  );
}

/** Checks the operation before the task is read: the answer is the same for known and unknown ids. */
function mayDo(right: ClientRight): RequestHandler {
  return (_request, response, next) => {
    next(
      clientOf(response).rights.has(right) ? undefined : new ApiProblem(403, `this client lacks the right “${right}”`),
    );
  };
}

function limitRate({ rate }: AccessRequestHttp): RequestHandler {
  return async (_request, response, next) => {
    const waitMs = await rate.take(clientOf(response).name);
    if (waitMs === undefined) return next();
    const problem = new ApiProblem(429, 'this client sends too many requests');
    problem.retryAfter = Math.max(1, Math.ceil(waitMs / 1_000));
    next(problem);
  };
}

/** An empty body needs no content type; the handler decides whether it needs a body. */
const requireJson: RequestHandler = (request, _response, next) => {
  const isEmpty = request.get('Content-Length') === '0' || request.is('*/*') === null;
  next(isEmpty || request.is('application/json') ? undefined : new ApiProblem(415));
};

function problemOf({ kind, status, message }: BodyFault): ApiProblem {
  if (kind === 'malformed')
    return new ApiProblem(400, message === NOT_JSON ? 'the body is not a JSON object' : message);
  return status === 400 ? new ApiProblem(400, message) : new ApiProblem(status);
}

function asProblem(log: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) return next(error);
    if (error instanceof ApiProblem) return sendProblem(response, error);
    const fault = bodyFaultOf(error);
    if (fault !== undefined) return sendProblem(response, problemOf(fault));
    log.error({ err: error }, 'an access request could not be served');
    sendProblem(
      response,
      isDatabaseAway(error) ? new ApiProblem(503, 'the database cannot be reached') : new ApiProblem(500),
    );
  };
}

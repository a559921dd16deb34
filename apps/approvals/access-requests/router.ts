import express, {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express';
import type { Logger } from 'pino';
import { isEnded, type AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { bearerOnly } from '../../shared/http/bearer.ts';
import { bodyFaultOf, type BodyFault } from '../../shared/http/body-fault.ts';
import { noStore } from '../../shared/http/page-headers.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { ApprovalStateOf } from './approval-state.ts';
import { Problem, sendProblem } from './problem.ts';
import { readIdempotencyKey, readSubmission } from './submission.ts';
import type { createSubmit } from './submit.ts';
import { statusBody, statusEndpoint, type JustOpened, type TaskUrls } from './task.ts';

export interface AccessRequestHttp {
  readonly store: AccessRequestStore;
  readonly submit: ReturnType<typeof createSubmit>;
  readonly approvalState: ApprovalStateOf;
  /** The key that verifies what we sign, as a JWK without its private half. */
  readonly publicKey: Readonly<Record<string, string>>;
  readonly urls: TaskUrls;
  /** Bearer token of the one enforcement point, and the name it is known by. */
  readonly token: string;
  readonly clientId: string;
  /** The one address that callbacks may go to. */
  readonly callbackEndpoint: string;
  readonly maxBodyBytes: number;
  readonly log: Logger;
}

/** The access request service as enforcement points use it, below `/access/v1`. @see ARAP */
export function accessRequestRouter(http: AccessRequestHttp): Router {
  const router = express.Router();
  const api = { base: '/requests', one: '/requests/:id', cancel: '/requests/:id/cancel' };
  router.get('/jwks', (_request, response) => {
    response.set('Cache-Control', 'public, max-age=300').json({ keys: [http.publicKey] });
  });
  router.use('/requests', authenticate(http), noStore);
  router.post(api.base, requireJson, express.json({ limit: http.maxBodyBytes, inflate: false }), submit(http));
  router.get(api.one, async (request, response) => sendStatus(http, response, await ownTask(http, request)));
  // A reason in the body is allowed and not kept, so it is not read either.
  router.post(api.cancel, cancel(http));
  router.all([api.base, api.one, api.cancel], (_request, _response, next) => next(new Problem(405)));
  router.use((_request, _response, next) => next(new Problem(404)));
  router.use(asProblem(http.log));
  return router;
}

function submit(http: AccessRequestHttp) {
  return async (request: Request, response: Response) => {
    const idempotencyKey = readIdempotencyKey(request.get('Idempotency-Key'));
    const shaped = readSubmission(request.body, http.callbackEndpoint);
    const opened = await http.submit({ ...shaped, clientId: http.clientId, idempotencyKey });
    response.location(statusEndpoint(opened.id, http.urls));
    await sendStatus(http, response.status(isEnded(opened.status) ? 201 : 202), opened);
  };
}

function cancel(http: AccessRequestHttp) {
  return async (request: Request, response: Response) => {
    const task = await ownTask(http, request);
    const outcome = await http.store.cancel(task.id, http.clientId);
    if (outcome === 'final') throw new Problem('invalid_task_state');
    await sendStatus(http, response, await ownTask(http, request));
  };
}

/** Somebody else's task and no such task are the same answer. */
async function ownTask({ store, clientId }: AccessRequestHttp, request: Request): Promise<AccessRequest> {
  const task = await store.find(String(request.params['id']));
  if (task === undefined || task.clientId !== clientId) throw new Problem('unknown_task');
  return task;
}

async function sendStatus(
  http: AccessRequestHttp,
  response: Response,
  request: AccessRequest | JustOpened,
): Promise<void> {
  const state = request.status === 'approved' ? await http.approvalState(request) : undefined;
  response.json(statusBody(request, state, http.urls));
}

function authenticate({ token, urls }: AccessRequestHttp): RequestHandler {
  return bearerOnly({ token, realm: urls.accessRequests }, (_why, _response, next) => next(new Problem(401)));
}

const requireJson: RequestHandler = (request, _response, next) => {
  next(request.is('application/json') ? undefined : new Problem(415));
};

/** Where the title says it all there is no detail. */
function problemOf({ kind, status, message }: BodyFault): Problem {
  if (kind === 'malformed') return new Problem(400, 'the body is not a JSON object');
  return status === 400 ? new Problem(400, message) : new Problem(status);
}

function asProblem(log: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) return next(error);
    if (error instanceof Problem) return sendProblem(response, error);
    const fault = bodyFaultOf(error);
    if (fault === undefined) log.error({ err: error }, 'an access request could not be served');
    sendProblem(response, fault === undefined ? new Problem(500) : problemOf(fault));
  };
}

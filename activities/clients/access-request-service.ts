import * as z from 'zod';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { AccessRequestHandle } from '../../workflows/domain/gated-call/submission.ts';
import type { AccessRequestService, ResolutionStatus } from '../../workflows/domain/ports.ts';
import { sendHttp, type HttpAnswer } from './http.ts';
import { jsonOf } from './json-answer.ts';

const TIMEOUT_MS = 10_000;

/** Also one that a clock can show and a database can hold: years before our own era and leap seconds are neither. */
const instant = z.iso.datetime({ offset: true }).refine((text) => Date.parse(text) > 0);
/** No column holds U+0000. */
const identifier = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\0]*$/);
const taskBody = z.looseObject({
  task: z.looseObject({
    id: identifier,
    status: z.string(),
    status_endpoint: z.url(),
    expires_at: instant.optional(),
    links: z.looseObject({ cancel: z.url().optional() }).optional(),
  }),
  result: z.unknown().optional(),
});
const grantedResult = z.looseObject({
  mode: z.literal('reevaluate'),
  approval: z.looseObject({ id: identifier, approved_at: instant, approved_until: instant, state: z.string() }),
});

const problemBody = z.looseObject({ type: z.string().optional() });

type TaskBody = z.infer<typeof taskBody>;

/**
 * Client of an access request service. Addresses it hands out are used only on its own origin and redirects are never
 * followed, so that our credential goes nowhere else.
 * @see ARAP, submission, task status, cancellation
 */
export function createAccessRequestClient(options: { serviceUrl: string; token: string }): AccessRequestService {
  const { origin } = new URL(options.serviceUrl);

  async function send(url: string, init: { method: 'GET' | 'POST'; headers?: Record<string, string>; body?: string }) {
    if (new URL(url).origin !== origin) throw unavailable('the access request service named a foreign address');
    const headers = { ...init.headers, authorization: `Bearer ${options.token}`, accept: 'application/json' };
    try {
      return await sendHttp(url, { ...init, headers, timeoutMs: TIMEOUT_MS });
    } catch (cause) {
      throw unavailable('the access request service does not answer', cause);
    }
  }

  return {
    async submit({ endpoint, idempotencyKey, body }) {
      const response = await send(endpoint, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
        body,
      });
      if (!isOk(response)) throw refusal(response);
      return handleOf(readTask(response), origin);
    },

    async read(handle) {
      const response = await send(handle.statusEndpoint, { method: 'GET' });
      if (!isOk(response)) throw refusal(response);
      return statusOf(readTask(response), retryAfterMs(response));
    },

    async cancel(handle) {
      if (handle.cancelEndpoint === undefined) return;
      const response = await send(handle.cancelEndpoint, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ reason: 'caller_cancelled' }),
      });
      // 409: it already ended. 404, 410: it is gone. In each case there is nothing left to give up.
      if (isOk(response) || [404, 405, 409, 410].includes(response.status)) return;
      throw refusal(response);
    },
  };
}

function unavailable(message: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE', message, { cause });
}

function isOk({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300;
}

function readJson(response: HttpAnswer): unknown {
  try {
    return jsonOf(response);
  } catch {
    return undefined;
  }
}

function readTask(response: HttpAnswer): TaskBody {
  const parsed = taskBody.safeParse(readJson(response));
  if (!parsed.success) throw unavailable('the access request service gave an answer that cannot be read');
  return parsed.data;
}

function refusal(response: HttpAnswer): CountersignError {
  const problem = problemBody.safeParse(readJson(response)).data;
  const type = problem?.type?.split(':').at(-1);
  if (response.status >= 500 || response.status === 429 || response.status === 401 || response.status === 403) {
    return unavailable(`the access request service answered ${response.status}`);
  }
  const message = `the access request service refused (${type ?? response.status})`;
  switch (type ?? '') {
    case 'expired_denial':
      return new CountersignError('ERR_DENIAL_EXPIRED', message);
    case 'invalid_denial_binding':
      return new CountersignError('ERR_DENIAL_BINDING_INVALID', message);
    case 'duplicate_request':
      return new CountersignError('ERR_SUBMISSION_CONFLICT', message);
    case 'unknown_task':
    case 'task_expired':
      return new CountersignError('ERR_ACCESS_REQUEST_NOT_FOUND', message);
    default:
      return new CountersignError('ERR_NOT_REQUESTABLE', message);
  }
}

function handleOf({ task }: TaskBody, origin: string): AccessRequestHandle {
  const cancel = task.links?.cancel;
  if (new URL(task.status_endpoint).origin !== origin) {
    throw unavailable('the access request service named a foreign status address');
  }
  return {
    accessRequestId: task.id,
    statusEndpoint: task.status_endpoint,
    ...(cancel !== undefined && new URL(cancel).origin === origin && { cancelEndpoint: cancel }),
    ...(task.expires_at !== undefined && { expiresAt: task.expires_at }),
  };
}

/** Only `approved` with a complete approval is a grant; a value nobody knows is one more reason to look again. */
function statusOf(body: TaskBody, retryAfter: number | undefined): ResolutionStatus {
  const pending: ResolutionStatus = { kind: 'pending', ...(retryAfter !== undefined && { retryAfterMs: retryAfter }) };
  switch (body.task.status) {
    case 'approved': {
      const granted = grantedResult.safeParse(body.result);
      if (!granted.success) return pending;
      const { id, approved_at, approved_until, state } = granted.data.approval;
      return { kind: 'granted', approval: { id, approvedAt: approved_at, approvedUntil: approved_until, state } };
    }
    case 'denied':
    case 'expired':
    case 'cancelled':
    case 'failed':
      return { kind: body.task.status };
    default:
      return pending;
  }
}

function retryAfterMs(response: HttpAnswer): number | undefined {
  const seconds = Number(response.header('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined;
}

import * as z from 'zod';
import type { Timing } from '../../../apps/shared/limits.ts';
import { canonicalJson, type Json, type JsonObject, ownProperty } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError, type ErrorCode } from '../../../workflows/domain/errors.ts';
import type { AccessRequestHandle } from '../../../workflows/domain/gated-call/submission.ts';
import type { AccessRequestService, ResolutionStatus } from '../../../workflows/domain/ports.ts';
import { RESOLUTION_LINK } from '../../../workflows/domain/authzen/evaluation.ts';
import { type Credential, type HttpAnswer, type IsTrusted, readJson, sendHttp } from '../http.ts';
import { createStated } from './statement.ts';

/** An instant that clocks can show and databases can hold: no year before our era, and no leap second. */
const instant = z.iso.datetime({ offset: true }).refine((text) => Date.parse(text) > 0);
/** No column holds U+0000. */
const identifier = z.string().regex(/^[^\0]{1,256}$/);
const MAX_PAGE_LENGTH = 2_000;
/** An address that people open, written so that it is one word in a text. It names no user, who could be taken for the host. */
const pageAddress = z
  .url({ protocol: /^https?$/ })
  .max(MAX_PAGE_LENGTH)
  .transform((url) => new URL(url))
  .refine(({ username, password }) => username === '' && password === '')
  .transform(({ href }) => href);
const taskBody = z.looseObject({
  task: z.looseObject({
    id: identifier,
    status: z.string(),
    // Required in a handle only: of a task that is read it is known already, and some services leave it out (ARAP-CPL-05).
    status_endpoint: z.url().optional(),
    expires_at: instant.optional(),
    items: z.unknown().optional(),
    links: z
      .looseObject({
        cancel: z.url().optional().catch(undefined),
        ticket: pageAddress.optional().catch(undefined),
        // A link that is no address is kept: the record then says that there was a statement which could not be read.
        [RESOLUTION_LINK]: z.string().optional().catch(''),
      })
      .optional()
      .catch(undefined),
  }),
  result: z.unknown().optional(),
});
const grantedResult = z.looseObject({
  mode: z.literal('reevaluate'),
  approval: z.looseObject({ id: identifier, approved_at: instant.optional(), approved_until: instant }),
});

const problemBody = z.looseObject({ type: z.string().optional() });

type TaskBody = z.infer<typeof taskBody>;

export interface AccessRequestClientOptions extends Timing {
  readonly credential: Credential;
  readonly isTrusted: IsTrusted;
}

/**
 * Client of an access request service. Uses only trusted addresses of those that the service hands out, and never follows a
 * redirect, so that our credential goes nowhere else.
 * @see ARAP, submission, task status, cancellation
 */
export function createAccessRequestClient(options: AccessRequestClientOptions): AccessRequestService {
  const { isTrusted, clock, limits } = options;
  const send = createSend(options);
  return {
    async submit({ endpoint, idempotencyKey, body }) {
      const response = await send(endpoint, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
        body,
      });
      if (!isOk(response)) throw refusedBy(response, 'final');
      return handleOf(readTask(response), isTrusted);
    },

    async read(handle) {
      const response = await send(handle.statusEndpoint, { method: 'GET' });
      if (!isOk(response)) throw refusedBy(response, 'later');
      const task = readTask(response, handle.accessRequestId);
      const statementEndpoint = task.task.links?.[RESOLUTION_LINK];
      const status = statusOf(task, retryAfterMs(response, clock));
      return statementEndpoint === undefined ? status : { ...status, statementEndpoint };
    },

    stated: createStated({ send, isTrusted, clock, limits }),

    async cancel(handle) {
      if (handle.cancelEndpoint === undefined) return;
      const response = await send(handle.cancelEndpoint, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ reason: 'caller_cancelled' }),
      });
      if (isOk(response) || isOver(response)) return;
      throw refusedBy(response, 'final');
    },
  };
}

/** Sends with our credential, only to addresses that are trusted. */
function createSend({ credential, isTrusted, clock, limits }: AccessRequestClientOptions) {
  const timeoutMs = limits.accessRequestServiceMs;
  return async (
    url: string,
    init: { method: 'GET' | 'POST'; headers?: Record<string, string>; body?: string; timeoutMs?: number },
  ): Promise<HttpAnswer> => {
    if (!isTrusted(url))
      throw unavailable(`the access request service is at an address that is not trusted. ${NEXT_STEP}`);
    const headers = { ...init.headers, ...credential.headers, accept: 'application/json' };
    try {
      return await sendHttp(url, { timeoutMs, clock, ...init, headers, via: credential.via });
    } catch (cause) {
      throw unavailable('the access request service does not answer', cause);
    }
  };
}

/** The same request may succeed later. */
export function unavailable(message: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE', message, { cause });
}

/** There is nothing to cancel any more: the request already ended (409), is gone (404, 410), or cannot be cancelled (405), or not by us (403). */
function isOver(response: HttpAnswer): boolean {
  const type = problemType(response) ?? '';
  return (
    ['invalid_task_state', 'unknown_task', 'task_expired'].includes(type) ||
    [403, 404, 405, 409, 410].includes(response.status)
  );
}

function isOk({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300;
}

/** @param about The id of the request that was asked about: an answer about another must not decide this one. */
function readTask(response: HttpAnswer, about?: string): TaskBody {
  const body = readJson(response);
  const parsed = taskBody.safeParse(body);
  if (!parsed.success) throw unavailable('the access request service gave an answer that cannot be read');
  if (about !== undefined && parsed.data.task.id !== about)
    throw unavailable('the access request service answered about another access request');
  return { task: parsed.data.task, result: (body as { result?: unknown }).result };
}

/** The meaning of a refusal by its type, with any status. @see ARAP, error responses */
const REFUSALS: Readonly<Record<string, ErrorCode>> = {
  not_requestable: 'ERR_NOT_REQUESTABLE',
  expired_denial: 'ERR_DENIAL_EXPIRED',
  invalid_denial_binding: 'ERR_DENIAL_BINDING_INVALID',
  duplicate_request: 'ERR_SUBMISSION_CONFLICT',
  unknown_task: 'ERR_ACCESS_REQUEST_NOT_FOUND',
  task_expired: 'ERR_ACCESS_REQUEST_NOT_FOUND',
};

/** The last part of the `type` of a problem; undefined where the body is no problem. */
function problemType(response: HttpAnswer): string | undefined {
  return problemBody.safeParse(readJson(response)).data?.type?.split(':').at(-1);
}

/**
 * The type decides; for an unknown type, and for a body that is no problem document, the status does (ARAP-ERR-09).
 *
 * @param forbidden What 403 says. To a submission it is an answer: the service knows us, and does not take this request. A status may be
 *   readable again later, when the rights of our credential are.
 */
function refusedBy(response: HttpAnswer, forbidden: 'final' | 'later'): CountersignError {
  const { status } = response;
  const type = problemType(response);
  const code = ownProperty(REFUSALS, type ?? '');
  if (
    code === undefined &&
    (status >= 500 || [401, 429].includes(status) || (status === 403 && forbidden === 'later'))
  ) {
    return unavailable(`the access request service answered ${status}`);
  }
  const said = code === undefined ? status : type;
  return new CountersignError(code ?? 'ERR_NOT_REQUESTABLE', `the access request service refused (${said})`);
}

const NEXT_STEP = 'If calls may be sent there, add the origin to accessRequests.trustedOrigins.';

function handleOf({ task }: TaskBody, isTrusted: IsTrusted): AccessRequestHandle {
  const { status_endpoint: statusEndpoint, expires_at: expiresAt } = task;
  const { cancel, ticket } = task.links ?? {};
  if (statusEndpoint === undefined) throw unavailable('the access request service named no status address');
  if (!isTrusted(statusEndpoint)) {
    throw unavailable(`the access request service named a foreign status address. ${NEXT_STEP}`);
  }
  return {
    accessRequestId: task.id,
    statusEndpoint,
    ...(cancel !== undefined && isTrusted(cancel) && { cancelEndpoint: cancel }),
    ...(ticket !== undefined && isTrusted(ticket) && { approvalPage: ticket }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(TERMINAL.has(task.status) && { isSettled: true }),
  };
}

/** Statuses after which there is nothing to wait for. */
const TERMINAL: ReadonlySet<string> = new Set(['approved', 'denied', 'expired', 'cancelled', 'failed']);

/**
 * Only `approved` with a complete approval is a grant; an unknown value counts as pending. So does a task with items, since this
 * side asks for one call: neither the status nor a result beside the items is about a single one (ARAP-BLK-07, ARAP-BLK-08).
 */
function statusOf(body: TaskBody, retryAfter: number | undefined): ResolutionStatus {
  const pending: ResolutionStatus = { kind: 'pending', ...(retryAfter !== undefined && { retryAfterMs: retryAfter }) };
  if (body.task.items !== undefined) return pending;
  switch (body.task.status) {
    case 'approved': {
      const granted = grantedResult.safeParse(body.result);
      if (!granted.success) return pending;
      // As it was parsed, and not as it was checked: unknown members go along (ARAP-CMP-09).
      const { approval: presented } = body.result as { approval: JsonObject };
      const { id, approved_at: approvedAt, approved_until: approvedUntil } = granted.data.approval;
      if (!hasCanonicalForm(presented)) return pending;
      return {
        kind: 'granted',
        approval: { id, approvedUntil, ...(approvedAt !== undefined && { approvedAt }), presented },
      };
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

/** Whether another program would read the same value after it is written down again. A number that is too large would become null. */
function hasCanonicalForm(value: Json): boolean {
  try {
    canonicalJson(value);
    return true;
  } catch {
    return false;
  }
}

/** Seconds, or a date by the clock of the service. @see RFC 9110, section 10.2.3 */
function retryAfterMs(response: HttpAnswer, clock: Timing['clock']): number | undefined {
  const text = response.header('retry-after');
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  const said = Date.parse(response.header('date') ?? '');
  const waitMs = Date.parse(text) - (Number.isNaN(said) ? clock.now() : said);
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}

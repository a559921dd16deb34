import type { Response } from 'express';
import * as z from 'zod';

/** The problems that ARAP names, with status and title. @see ARAP, Error Responses */
const NAMED = {
  not_requestable: [400, 'The denial is not requestable'],
  invalid_denial_binding: [400, 'The denial does not cover the request'],
  expired_denial: [410, 'The denial has expired'],
  duplicate_request: [409, 'The idempotency key was used for another request'],
  unknown_task: [404, 'There is no such task'],
  task_expired: [410, 'The task is past its retention period'],
  invalid_task_state: [409, 'The task has ended'],
} as const;

/** Other problems have a status but no type (PRJ-11). */
const TITLES = {
  400: 'The request is malformed',
  401: 'A valid bearer token is required',
  403: 'The client is not allowed to do this',
  404: 'There is nothing at this address',
  405: 'The method is not supported',
  413: 'The body is too large',
  415: 'The body must be uncompressed JSON',
  429: 'Too many requests',
  500: 'Internal error',
  503: 'Temporarily unavailable; try again',
} as const;

const RETRY_AFTER_SECONDS = 5;

const URN = 'urn:openid:authzen:access-request:error:';

/** An RFC 9457 problem. `detail` is for people and never contains submitted values. */
export class ApiProblem extends Error {
  readonly type: string;
  readonly status: number;
  readonly title: string;
  /** Seconds before the next attempt, where waiting helps. */
  retryAfter: number | undefined;

  constructor(kind: keyof typeof NAMED | keyof typeof TITLES, detail?: string) {
    super(detail ?? '');
    this.name = 'ApiProblem';
    if (typeof kind === 'number') {
      this.type = 'about:blank';
      this.status = kind;
      this.title = TITLES[kind];
      this.retryAfter = kind === 503 ? RETRY_AFTER_SECONDS : undefined;
    } else {
      this.type = `${URN}${kind}`;
      [this.status, this.title] = NAMED[kind];
    }
  }
}

export function sendProblem(response: Response, { type, title, status, message, retryAfter }: ApiProblem): void {
  if (retryAfter !== undefined) response.set('Retry-After', String(retryAfter));
  response
    .status(status)
    .type('application/problem+json')
    .send(JSON.stringify({ type, title, status, ...(message && { detail: message }) }));
}

/** @see ARAP, Cancellation */
const cancellationSchema = z
  .looseObject({ reason: z.string().max(64).optional(), comment: z.string().max(2_000).optional() })
  .optional();

/** A client's reason for a cancellation, if it gives one. Throws an `ApiProblem` (400). */
export function readCancellation(body: unknown): { reason?: string | undefined; comment?: string | undefined } {
  const parsed = cancellationSchema.safeParse(body);
  if (!parsed.success)
    throw new ApiProblem(400, 'reason (at most 64 characters) and comment (at most 2,000) must be strings');
  const { reason, comment } = parsed.data ?? {};
  return { reason: singleLine(reason), comment: singleLine(comment) };
}

/** A typed text as one line, without control characters and lone surrogates; undefined if nothing is left. */
export const singleLine = (text: string | undefined): string | undefined =>
  text?.replace(/[\p{Cc}\p{Cs}\s]+/gu, ' ').trim() || undefined;

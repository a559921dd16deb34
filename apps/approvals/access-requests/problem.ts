import type { Response } from 'express';
import * as z from 'zod';

/** The problems that ARAP names, with status and title. @see ARAP, Error Responses */
const NAMED = {
  not_requestable: [400, 'What was denied cannot be requested'],
  invalid_denial_binding: [400, 'The request does not belong to the denial'],
  expired_denial: [410, 'The denial is no longer fresh'],
  duplicate_request: [409, 'The idempotency key stands for another request'],
  unknown_task: [404, 'There is no such task'],
  task_expired: [410, 'The task ended long ago and is kept no longer'],
  invalid_task_state: [409, 'The task has ended'],
} as const;

/** Everything else: a status and no type of its own (PRJ-11). */
const TITLES = {
  400: 'The request is malformed',
  401: 'A valid bearer token is required',
  403: 'The client may not do this',
  404: 'There is nothing here',
  405: 'The method is not supported',
  413: 'The body is too large',
  415: 'The body has to be uncompressed JSON',
  429: 'Too many requests',
  500: 'Something went wrong here',
  503: 'Not available at the moment; try again',
} as const;

/** What is not available comes back by itself. */
const RETRY_AFTER_SECONDS = 5;

const URN = 'urn:openid:authzen:access-request:error:';

/** A refusal in the form of RFC 9457. `detail` is for people and never holds what was submitted. */
export class Problem extends Error {
  readonly type: string;
  readonly status: number;
  readonly title: string;
  /** Seconds before the next try, where waiting helps. */
  retryAfter: number | undefined;

  constructor(kind: keyof typeof NAMED | keyof typeof TITLES, detail?: string) {
    super(detail ?? '');
    this.name = 'Problem';
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

export function sendProblem(response: Response, { type, title, status, message, retryAfter }: Problem): void {
  if (retryAfter !== undefined) response.set('Retry-After', String(retryAfter));
  response
    .status(status)
    .type('application/problem+json')
    .send(JSON.stringify({ type, title, status, ...(message && { detail: message }) }));
}

/** Unknown members are ignored; what is there has to be what it is called. @see ARAP, Cancellation */
const cancellationSchema = z
  .looseObject({ reason: z.string().max(64).optional(), comment: z.string().max(2_000).optional() })
  .optional();

/** Why a client gives a request up, if it says so. Throws a `Problem` (400). */
export function readCancellation(body: unknown): { reason?: string | undefined; comment?: string | undefined } {
  const parsed = cancellationSchema.safeParse(body);
  if (!parsed.success) throw new Problem(400, 'reason (at most 64 characters) and comment (at most 2,000) are texts');
  const { reason, comment } = parsed.data ?? {};
  return { reason: oneLine(reason), comment: oneLine(comment) };
}

/** What somebody wrote, as one line without controls and halves of characters; undefined when nothing is left of it. */
export const oneLine = (text: string | undefined): string | undefined =>
  text?.replace(/[\p{Cc}\p{Cs}\s]+/gu, ' ').trim() || undefined;

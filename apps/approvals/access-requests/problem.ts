import type { Response } from 'express';

/**
 * The problems that ARAP names, with status and title. `not_requestable` is not among them: a PDP signs nothing for a
 * denial that cannot be requested, so that one fails its binding. @see ARAP, Error Responses
 */
const NAMED = {
  invalid_denial_binding: [400, 'The request does not belong to the denial'],
  expired_denial: [410, 'The denial is no longer fresh'],
  duplicate_request: [409, 'The idempotency key stands for another request'],
  unknown_task: [404, 'There is no such task'],
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
  500: 'Something went wrong here',
  503: 'Not available at the moment; try again',
} as const;

const URN = 'urn:openid:authzen:access-request:error:';

/** A refusal in the form of RFC 9457. `detail` is for people and never holds what was submitted. */
export class Problem extends Error {
  readonly type: string;
  readonly status: number;
  readonly title: string;

  constructor(kind: keyof typeof NAMED | keyof typeof TITLES, detail?: string) {
    super(detail ?? '');
    this.name = 'Problem';
    if (typeof kind === 'number') {
      this.type = 'about:blank';
      this.status = kind;
      this.title = TITLES[kind];
    } else {
      this.type = `${URN}${kind}`;
      [this.status, this.title] = NAMED[kind];
    }
  }
}

export function sendProblem(response: Response, { type, title, status, message }: Problem): void {
  response
    .status(status)
    .type('application/problem+json')
    .send(JSON.stringify({ type, title, status, ...(message && { detail: message }) }));
}

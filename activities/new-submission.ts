import { randomBytes } from 'node:crypto';
import type { NewSubmission } from '../workflows/domain/gated-call/submission.ts';
import { submissionBody, type SubmissionFacts } from '../workflows/domain/gated-call/submission-body.ts';

/** Comes back with each callback, so that one can be told from a stranger's; for whoever answers, it means nothing. */
const CALLBACK_STATE_BYTES = 16;

export interface SubmissionSettings {
  readonly accessRequestsUrl: string;
  readonly callbackUrl: string;
}

/** A submission has one key for its whole life: however often it is sent, it opens one access request. */
const IDEMPOTENCY_KEY_BYTES = 32;

/** What the access request service is to be sent for a denied call, under a key and with callbacks of its own. */
export function newSubmission(
  facts: Omit<SubmissionFacts, 'callback'>,
  { accessRequestsUrl, callbackUrl }: SubmissionSettings,
): NewSubmission {
  const state = randomText(CALLBACK_STATE_BYTES);
  return {
    idempotencyKey: randomText(IDEMPOTENCY_KEY_BYTES),
    endpoint: accessRequestsUrl,
    body: submissionBody({ ...facts, callback: { endpoint: callbackUrl, state } }),
  };
}

const randomText = (bytes: number) => randomBytes(bytes).toString('base64url');

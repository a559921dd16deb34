import { submissionBody, type SubmissionFacts } from './submission-body.ts';
import type { NewSubmission } from './submission.ts';

/** Comes back with each callback, so that one can be told from a stranger's; for whoever answers, it means nothing. */
const CALLBACK_STATE_BYTES = 16;
/** A submission has one key for its whole life: however often it is sent, it opens one access request. */
const IDEMPOTENCY_KEY_BYTES = 32;

export interface SubmissionSettings {
  readonly callbackUrl: string;
}

/**
 * What the access request service is to be sent for a denied call, under a key and with callbacks of its own.
 *
 * @param randomText Answers so many random bytes as text that needs no escaping.
 */
export function newSubmission(
  facts: Omit<SubmissionFacts, 'callback'>,
  { callbackUrl }: SubmissionSettings,
  randomText: (bytes: number) => string,
): NewSubmission {
  const callback = { endpoint: callbackUrl, state: randomText(CALLBACK_STATE_BYTES) };
  return {
    idempotencyKey: randomText(IDEMPOTENCY_KEY_BYTES),
    endpoint: facts.denial.offer.endpoint,
    body: submissionBody({ ...facts, callback }),
  };
}

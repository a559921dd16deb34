import { randomBytes } from 'node:crypto';
import type { Decision } from '../workflows/domain/authzen/evaluation.ts';
import { submissionBody } from '../workflows/domain/gated-call/submission-body.ts';
import type { ActivityDeps } from './deps.ts';
import type { StoredCall } from './stores/stored-call.ts';

const CALLBACK_STATE_BYTES = 16;
const IDEMPOTENCY_KEY_BYTES = 32;

/**
 * The policy wants a further approval: the present generation is used up and the next submission is recorded, with a key
 * of its own, in one commit and before anybody is told. Answers whether there is a next generation; without one the call
 * has ended. @see SEP-2848, Completion (request)
 */
export function createRequestAgain({ store, settings }: Pick<ActivityDeps, 'store' | 'settings'>) {
  return async (call: StoredCall, denial: Extract<Decision, { kind: 'requestable' }>): Promise<boolean> => {
    const { caller, evaluation } = call.binding;
    const callback = {
      endpoint: settings.callbackUrl,
      state: randomBytes(CALLBACK_STATE_BYTES).toString('base64url'),
    };
    const next = {
      idempotencyKey: randomBytes(IDEMPOTENCY_KEY_BYTES).toString('base64url'),
      endpoint: settings.accessRequestsUrl,
      body: submissionBody({ evaluation, denial, caller, callback, generation: call.generation + 1 }),
    };
    return (await store.requestAgain(call, next, settings.maxGenerations)) === 'pending';
  };
}

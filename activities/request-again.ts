import type { Decision } from '../workflows/domain/authzen/evaluation.ts';
import type { Additions } from '../workflows/domain/submission-input/answers.ts';
import { newSubmission } from '../workflows/domain/gated-call/new-submission.ts';
import type { ActivityDeps } from './deps.ts';
import { randomText } from '../apps/shared/random-text.ts';
import type { StoredCall } from './stores/stored-call.ts';

/**
 * The policy wants a further approval: the present generation is used up and the next submission is recorded, with a key
 * of its own, in one commit and before anybody is told. Answers whether there is a next generation; without one the call
 * has ended. @see SEP-2848, Completion (request)
 */
export function createRequestAgain({ store, settings }: Pick<ActivityDeps, 'store' | 'settings'>) {
  return async (
    call: StoredCall,
    denial: Extract<Decision, { kind: 'requestable' }>,
    additions: Additions | undefined,
  ): Promise<boolean> => {
    const { caller, evaluation } = call.binding;
    const generation = call.generation + 1;
    const next = newSubmission({ evaluation, caller, denial, generation, additions }, settings, randomText);
    return (await store.requestAgain(call, next, settings.maxGenerations)) === 'pending';
  };
}

import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { PolicyDecisionPoint } from '../../../workflows/domain/ports.ts';
import type { Questions } from './questions.ts';
import type { Sender } from './trusted-input.ts';

/**
 * Asks about one message of any method but `tools/call`. Resolves when it is allowed, and throws when it is not: `ERR_READ_DENIED`
 * also for a method without a mapping, which is never an implicit decision (COAZ-FW-18, COAZ-DF-16).
 */
export type Authorize = (sender: Sender, method: string, params: JsonObject) => Promise<void>;

export function createAuthorize({
  pdp,
  questions,
}: {
  readonly pdp: Pick<PolicyDecisionPoint, 'evaluate'>;
  readonly questions: Pick<Questions, 'ofRequest'>;
}): Authorize {
  return async (sender, method, params) => {
    const question = questions.ofRequest(sender, method, params);
    if (question === undefined) throw new CountersignError('ERR_READ_DENIED', 'no mapping says what it would be');
    const decision = await pdp.evaluate(question, undefined, sender.claims);
    if (decision.kind === 'deny' && decision.unmet?.stepUps) {
      throw new CountersignError('ERR_STEP_UP_NEEDED', 'policy demands a stronger sign-in for this request');
    }
    if (decision.kind !== 'allow') throw new CountersignError('ERR_READ_DENIED', 'policy does not allow this request');
  };
}

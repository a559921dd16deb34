import { joinDecisions } from '../../../workflows/domain/authzen/several-decisions.ts';
import type { Decision } from '../../../workflows/domain/authzen/evaluation.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { PolicyDecisionPoint } from '../../../workflows/domain/ports.ts';

/** The decision on a call, and the call bound to the question that it is about: the one that an approval would be for. */
export interface Decided {
  readonly decision: Decision;
  readonly binding: CallBinding;
}

/** Puts the questions of a call: one, or all of a mapping with several at once. Throws `ERR_PDP_UNAVAILABLE`. */
export async function decide(pdp: PolicyDecisionPoint, binding: CallBinding): Promise<Decided> {
  const { evaluation, others, claims } = binding;
  if (others === undefined) return { decision: await pdp.evaluate(evaluation, undefined, claims), binding };
  const questions = [evaluation, ...others];
  const { decision, about } = joinDecisions(await pdp.evaluateAll(questions, claims));
  return {
    decision,
    binding: {
      ...binding,
      evaluation: questions[about] ?? evaluation,
      others: questions.filter((_question, index) => index !== about),
    },
  };
}

import type { Json, JsonObject } from '../canonical-json.ts';
import type { Decision } from './evaluation.ts';
import type { ObligationOutcome, StepUp, Unmet } from './obligation.ts';

/**
 * Carries out what an answer of the PDP obliges its enforcement point to do, and says what the answer comes to then. A permit is
 * one only when all was carried out; a denial stays one. Throws `ERR_OBLIGATION_UNAVAILABLE` for a permit of which something could
 * not be carried out now, and `ERR_DATABASE_UNAVAILABLE`; then nothing is permitted.
 * @see AuthZEN Obligations Profile, Obligations on PERMIT, Obligations on DENY, Non-Compliance
 */
export type Oblige = (answer: ObligingAnswer) => Promise<Decision>;

export interface ObligingAnswer {
  readonly decision: Decision;
  /** As they came, of whatever form. */
  readonly obligations: readonly Json[];
  /** Of the caller's token, as they were when the call was made. */
  readonly claims: JsonObject;
}

/** The decision after its obligations: what is not met turns a permit, and a request for an approval, into a denial. */
export function afterObligations(
  decision: Decision,
  obligations: readonly ObligationOutcome[],
  missing: readonly StepUp[],
): Decision {
  const unmet = obligations.filter(({ outcome }) => outcome === 'unmet');
  const [first, ...more] = missing;
  const onlyStepUps = first !== undefined && missing.length === unmet.length;
  const why: Unmet = onlyStepUps ? { stepUps: [first, ...more] } : {};
  const { evaluationId, basis } = decision;
  const denied = {
    kind: 'deny',
    ...(evaluationId !== undefined && { evaluationId }),
    ...(basis !== undefined && { basis }),
    obligations,
    unmet: why,
  } as const;
  switch (decision.kind) {
    case 'allow':
      return unmet.length === 0 ? { ...decision, obligations } : denied;
    case 'requestable':
      // An approval never stands in for a sign-in (PRJ-29): without the one, the other would be given for nothing.
      return first === undefined ? { ...decision, obligations } : { ...denied, unmet: { stepUps: [first, ...more] } };
    case 'deny':
      return { ...decision, obligations, ...(first !== undefined && { unmet: { stepUps: [first, ...more] } }) };
    case 'retry':
      return { ...decision, obligations };
  }
}

import type { Json, JsonObject } from '../canonical-json.ts';
import type { ObligationOutcome, StepUp, Unmet } from './obligation.ts';

/**
 * Members and link relations of our own on the wire between the two sides. Others ignore them. The names are of the reverse-DNS
 * form that ARAP demands, and stand at its extension points only (ARAP-EXT-01, ARAP-EXT-02).
 */

/**
 * In the context of every decision: the digest of all texts that it was made from. It only tells whether two decisions come from
 * the same texts.
 */
export const POLICY_VERSION_MEMBER = 'dev.countersign.policy_version';

/** In the context of a decision: ids of the policies that determined it. For enforcement points that may see diagnostics (ARAP-DEN-19). */
export const POLICIES_MEMBER = 'dev.countersign.policies';

/**
 * In `task.links`: where the access request service states who resolved the request, and how. A resource of its own, so that a
 * reader of the status learns nothing of approvers (ARAP-STS-14, ARAP-STS-16).
 */
export const RESOLUTION_LINK = 'dev.countersign.resolution';

/**
 * Name under which the enforcement side is known to the authority side, whichever replica speaks. Binding tokens and
 * approvals are bound to it, so it has to outlive processes, sessions and tokens (PRJ-26).
 */
export const PEP_CLIENT_ID = 'mcp-gateway';

/** AuthZEN information model: who, does what, on what. @see AuthZEN Authorization API 1.0, section 5 */
export interface Subject {
  readonly type: string;
  readonly id: string;
  readonly properties?: JsonObject;
}
export interface Action {
  readonly name: string;
  readonly properties?: JsonObject;
}
export interface Resource {
  readonly type: string;
  readonly id: string;
  readonly properties?: JsonObject;
}

/** Body of an access evaluation request. @see AuthZEN Authorization API 1.0, section 6 */
export interface EvaluationRequest {
  readonly subject: Subject;
  readonly action: Action;
  readonly resource: Resource;
  readonly context: JsonObject;
}

/** The access request that may cure a requestable denial. @see ARAP, requestable denial */
export interface AccessRequestOffer {
  /** Submission URL: that of the denial, else the configured one, else that of the PDP's metadata (ARAP-DEN-05). */
  readonly endpoint: string;
  readonly template?: string;
  /** Instant (RFC 3339) after which a submission is refused. */
  readonly expiresAt: string;
  readonly bindingToken?: string;
  /** Address of the schema for the input of a submission. */
  readonly requestSchemaUrl?: string;
  /** Address of the document that names catalogs for values of that input. Never without the schema. */
  readonly requestCatalogsUrl?: string;
}

/**
 * A granted resolution: the approval object for the PDP, exactly as the access request service gave it, and the parts of it that
 * this side uses. @see ARAP, approval object (ARAP-CMP-09, ARAP-REV-02)
 */
export interface Approval {
  readonly id: string;
  /** Instant (RFC 3339); not every service says it. */
  readonly approvedAt?: string;
  readonly approvedUntil: string;
  /** The whole approval object, unknown members too. */
  readonly presented: JsonObject;
}

/** The basis of a decision, as the PDP states it. Not every PDP does. */
export interface PolicyBasis {
  /** Version of the policies: of ours, a digest. */
  readonly policyVersion?: string;
  readonly policies?: readonly string[];
}

/** The answer of the PDP, with its obligations carried out. Only the PDP decides; an answer that is not understood is a plain denial. */
export type Decision = { readonly obligations?: readonly ObligationOutcome[]; readonly basis?: PolicyBasis } & (
  | {
      readonly kind: 'allow';
      readonly evaluationId?: string;
      /** Instant (RFC 3339) after which nothing may be claimed for it, where the PDP names one. @see ARAP (ARAP-REV-12) */
      readonly approvedUntil?: string;
    }
  | {
      readonly kind: 'deny';
      readonly evaluationId?: string;
      readonly reason?: string;
      /** Of a permit whose obligations were not met, and of a denial that demands a stronger sign-in. */
      readonly unmet?: Unmet;
    }
  | {
      readonly kind: 'requestable';
      readonly evaluationId?: string;
      readonly evaluatedAt?: string;
      readonly reason?: string;
      readonly offer: AccessRequestOffer;
    }
  | {
      readonly kind: 'retry';
      readonly evaluationId?: string;
      readonly reason?: string;
      readonly retryAfterMs?: number;
    }
);

/**
 * The joint result of several decisions, and the index of the decision that it comes from. All have to allow (COAZ-EN-06). One
 * requestable denial among permits alone is requestable, because an approval for that evaluation request cures it. With two or
 * more, no single approval would be enough, so the result is a plain denial.
 */
export function joinDecisions(decisions: readonly Decision[]): { readonly decision: Decision; readonly about: number } {
  const all = decisions.flatMap((decision, about) => (decision.kind === 'allow' ? [] : [{ decision, about }]));
  const [first, ...others] = all;
  if (first === undefined) {
    const [allow, ...more] = decisions;
    return { decision: allow === undefined ? { kind: 'deny' } : onBasisOfAll(allow, more), about: 0 };
  }
  if (others.length === 0 && first.decision.kind === 'requestable') return first;
  const { decision, about } = all.find((one) => one.decision.kind === 'deny') ?? first;
  return { decision: refused(decision), about };
}

/** A permit that rests on others as well, with their basis. Versions that differ are left out: there is no single version. */
export function onBasisOfAll<One extends Decision>(decision: One, others: readonly Decision[]): One {
  const all = [decision, ...others].flatMap(({ basis }) => basis ?? []);
  if (others.length === 0 || all.length === 0) return decision;
  const [version, ...more] = new Set(all.map(({ policyVersion }) => policyVersion));
  const policies = new Set(all.flatMap((one) => one.policies ?? []));
  const basis: PolicyBasis = {
    ...(version !== undefined && more.length === 0 && { policyVersion: version }),
    ...(policies.size > 0 && { policies: [...policies].sort() }),
  };
  return { ...decision, basis };
}

/** A decision as a plain denial, with its reason, its basis and its unmet obligations. */
export function refused(decision: Exclude<Decision, { kind: 'allow' }>): Extract<Decision, { kind: 'deny' }> {
  const { reason, obligations, basis } = decision;
  return {
    kind: 'deny',
    ...(reason !== undefined && { reason }),
    ...(obligations !== undefined && { obligations }),
    ...(basis !== undefined && { basis }),
    ...('unmet' in decision && decision.unmet !== undefined && { unmet: decision.unmet }),
  };
}

/**
 * Carries out the obligations of an answer, and answers the resulting decision. A permit with an unmet obligation is treated as a
 * denial; a denial stays one. Throws `ERR_OBLIGATION_UNAVAILABLE` when an obligation of a permit could not be carried out now, and
 * `ERR_DATABASE_UNAVAILABLE`; then nothing is permitted.
 * @see AuthZEN Obligations Profile, Obligations on PERMIT, Obligations on DENY, Non-Compliance
 */
export type Oblige = (answer: ObligingAnswer) => Promise<Decision>;

export interface ObligingAnswer {
  readonly decision: Decision;
  /** As they came, in any form. */
  readonly obligations: readonly Json[];
  readonly claims: JsonObject;
}

/** The decision after its obligations: an unmet one turns a permit, and a requestable denial, into a plain denial. */
export function afterObligations(
  decision: Decision,
  obligations: readonly ObligationOutcome[],
  missing: readonly StepUp[],
): Decision {
  const unmet = obligations.filter(({ outcome }) => outcome === 'unmet');
  const [first, ...more] = missing;
  const stepUps: Unmet | undefined = first && { stepUps: [first, ...more] };
  const { evaluationId, basis } = decision;
  const denied = {
    kind: 'deny',
    ...(evaluationId !== undefined && { evaluationId }),
    ...(basis !== undefined && { basis }),
    obligations,
    unmet: stepUps !== undefined && missing.length === unmet.length ? stepUps : {},
  } as const;
  switch (decision.kind) {
    case 'allow':
      return unmet.length === 0 ? { ...decision, obligations } : denied;
    case 'requestable':
      // An approval never stands in for a sign-in (PRJ-29): without the one, the other would be given for nothing.
      return stepUps === undefined ? { ...decision, obligations } : { ...denied, unmet: stepUps };
    case 'deny':
      return { ...decision, obligations, ...(stepUps && { unmet: stepUps }) };
    case 'retry':
      return { ...decision, obligations };
  }
}

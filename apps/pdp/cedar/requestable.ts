import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { Obligation } from '../../../workflows/domain/authzen/obligation.ts';
import type { CedarAnswer } from './decision-cache.ts';
import type { ApprovalFacts, Engine, Prepared } from './engine.ts';
import { demandedBy } from './obligation-files.ts';
import type { Policy } from './policies.ts';

/** What policy says about a request, before anything is signed or recorded. */
export type PolicyAnswer = {
  /** What it demands of the enforcement point; absent where it demands nothing. */
  readonly obligations?: readonly Obligation[];
} & (
  | { readonly kind: 'permit'; readonly policies: readonly string[] }
  | { readonly kind: 'deny'; readonly reason: string; readonly policies: readonly string[] }
  | Requestable
  /** The request could not be evaluated. It is denied, no access request cures it, and somebody has to look. */
  | { readonly kind: 'failed'; readonly reason: string; readonly cause: string }
);

export interface Requestable {
  readonly kind: 'requestable';
  /** Template of the access request that would cure the denial. */
  readonly template: string;
  readonly reason: string;
  readonly title?: string;
  readonly description?: string;
  /** Policies that ask for the approval, sorted by id. */
  readonly policies: readonly string[];
  /** What the permit would demand that the approval brings, as policies stand now. */
  readonly ifApproved?: readonly Obligation[];
}

type Ready = Extract<Prepared, { kind: 'ready' }>;

/**
 * Evaluates a request, and when it is denied finds out whether an approval would change that. The question is asked of
 * Cedar itself: the same request with an assumed approval. What comes of assuming is only ever an offer, never a permit.
 *
 * @param request Without `context.approval`; what the caller sent there has no meaning for policies (PRJ-27).
 * @param approval Facts about an approval that was presented and has been verified.
 */
export function answerByPolicy(engine: Engine, request: EvaluationRequest, approval?: ApprovalFacts): PolicyAnswer {
  const prepared = engine.prepare(request);
  if (prepared.kind === 'unknown_action') return { kind: 'deny', reason: 'not_permitted', policies: [] };
  if (prepared.kind === 'failed') return { kind: 'failed', reason: 'input_not_evaluable', cause: prepared.cause };
  const answer = engine.evaluate(prepared, approval);
  const obliging = (member: 'obligations' | 'ifApproved', effect: Policy['effect'], of: readonly string[]) => {
    const demanded = demandedBy(engine, request, { of, effect });
    return demanded.length > 0 && { [member]: demanded };
  };
  switch (answer.kind) {
    case 'failed':
      return { kind: 'failed', reason: 'evaluation_failed', cause: answer.cause };
    case 'allow':
      return { kind: 'permit', policies: answer.policies, ...obliging('obligations', 'permit', answer.policies) };
    case 'deny': {
      const { permit = [], ...denial } = explainDenial(engine, prepared, answer.policies);
      const demanded = obliging('obligations', 'forbid', answer.policies);
      return { ...denial, ...demanded, ...obliging('ifApproved', 'permit', permit) };
    }
  }
}

/** Whether a request is permitted as it stands, without any approval: one evaluation, and no word about why. */
export function isPermitted(engine: Engine, request: EvaluationRequest): boolean {
  const prepared = engine.prepare(request);
  return prepared.kind === 'ready' && engine.evaluate(prepared).kind === 'allow';
}

/** A denial, and the policies that would permit with the approval it offers. */
type Explained = Exclude<PolicyAnswer, { kind: 'permit' | 'failed' }> & { readonly permit?: readonly string[] };

function explainDenial(engine: Engine, prepared: Ready, determining: readonly string[]): Explained {
  const forbids = determining.flatMap((id) => engine.policies.get(id) ?? []);
  const final = forbids.filter((policy) => policy.template === undefined);
  if (final.length > 0) return { kind: 'deny', reason: firstReason(final) ?? 'policy_denied', policies: determining };

  // Nothing forbids: then only a permit that asks for an approval can be what is missing.
  const asking =
    forbids.length > 0 ? forbids : engine.policiesFor(prepared.action).filter((policy) => policy.effect === 'permit');
  const templates = new Set(asking.flatMap((policy) => policy.template ?? []));
  for (const template of templates) {
    const assumed = engine.evaluate(prepared, { verified: true, template });
    if (assumed.kind === 'allow') {
      const by = forbids.length > 0 ? forbids : permitsOf(engine, assumed, template);
      return { ...offer(template, by), permit: assumed.policies };
    }
  }
  // The reasons of requestable policies ask for an approval, and none would help: they are not passed on.
  return { kind: 'deny', reason: 'not_permitted', policies: determining };
}

/** The permits that an assumed approval of this template made effective. */
function permitsOf(
  engine: Engine,
  assumed: Extract<CedarAnswer, { kind: 'allow' | 'deny' }>,
  template: string,
): Policy[] {
  return assumed.policies
    .flatMap((id) => engine.policies.get(id) ?? [])
    .filter((policy) => policy.template === template);
}

function offer(template: string, asking: readonly Policy[]): Requestable {
  const title = asking.find((policy) => policy.title)?.title;
  const description = asking.find((policy) => policy.description)?.description;
  return {
    kind: 'requestable',
    template,
    reason: firstReason(asking) ?? 'approval_required',
    ...(title && { title }),
    ...(description && { description }),
    policies: asking.map((policy) => policy.id),
  };
}

const firstReason = (policies: readonly Policy[]) => policies.find((policy) => policy.reason)?.reason;

import type { GrantBounds } from '../../../workflows/domain/access-request/access-request.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { TEMPLATE_JOINT } from '../../shared/rules/rules.ts';
import type { Evaluator, Ready } from '../engine/cedar/evaluator.ts';
import { HOST_MEMBERS } from '../engine/cedar/facts.ts';
import type { Policy } from '../engine/cedar/policies.ts';
import type { ApprovalFacts, PolicyAnswer, Requestable } from '../engine/policy-engine.ts';
import { demandedBy } from '../obligations.ts';

/**
 * Evaluates a request. If it is denied, finds out whether an approval would change that: Cedar evaluates the same request with
 * an assumed approval. The result of an assumption is only ever an offer, never a permit.
 *
 * @param request Without `context.approval`: what a caller sends there has no meaning for policies (PRJ-27).
 * @param approval Facts about an approval that came with the request and has been verified.
 * @param at When the request is decided, in milliseconds since 1970. Default: now.
 */
export function answerByPolicy(
  evaluator: Evaluator,
  request: EvaluationRequest,
  approval?: ApprovalFacts,
  at?: number,
): PolicyAnswer {
  const prepared = evaluator.prepare(request, at);
  if (prepared.kind === 'unknown_action') return { kind: 'deny', reason: 'not_permitted', policies: [] };
  if (prepared.kind === 'failed') return { kind: 'failed', reason: 'input_not_evaluable', cause: prepared.cause };
  const answer = evaluator.evaluate(prepared, approval);
  const obliging = (member: 'obligations' | 'ifApproved', effect: Policy['effect'], of: readonly string[]) => {
    const demanded = demandedBy(evaluator, request, { of, effect });
    return demanded.length > 0 && { [member]: demanded };
  };
  switch (answer.kind) {
    case 'failed':
      return { kind: 'failed', reason: 'evaluation_failed', cause: answer.cause };
    case 'allow':
      return { kind: 'permit', policies: answer.policies, ...obliging('obligations', 'permit', answer.policies) };
    case 'deny': {
      const { permit = [], ...denial } = explainDenial(evaluator, prepared, answer.policies);
      const demanded = obliging('obligations', 'forbid', answer.policies);
      return { ...denial, ...demanded, ...obliging('ifApproved', 'permit', permit) };
    }
  }
}

/** Whether policies permit a request without any approval. One evaluation, without the reasons. */
export function isPermitted(evaluator: Evaluator, request: EvaluationRequest): boolean {
  const prepared = evaluator.prepare(request);
  return prepared.kind === 'ready' && evaluator.evaluate(prepared).kind === 'allow';
}

/** A denial, and the policies that would permit with the approval it offers. */
type Explained = Exclude<PolicyAnswer, { kind: 'permit' | 'failed' }> & { readonly permit?: readonly string[] };

function explainDenial(evaluator: Evaluator, prepared: Ready, determining: readonly string[]): Explained {
  const forbids = determining.flatMap((id) => evaluator.policies.get(id) ?? []);
  const final = forbids.filter((policy) => policy.template === undefined);
  if (final.length > 0) return { kind: 'deny', reason: firstReason(final) ?? 'policy_denied', policies: determining };

  // If nothing forbids, only a permit that asks for an approval can be missing.
  const asking =
    forbids.length > 0
      ? forbids
      : evaluator.policiesFor(prepared.action).filter((policy) => policy.effect === 'permit');
  const templates = [...new Set(asking.flatMap((policy) => policy.template ?? []))];
  const all = forbids.length > 0 ? coveringAll(evaluator, prepared) : undefined;
  for (const template of [...templates, ...(all === undefined ? [] : [all.template])]) {
    const assumed = evaluator.evaluate(prepared, { verified: true, template });
    if (assumed.kind === 'allow') {
      // Without a forbid, the permits that the assumed approval of this template made effective ask for it.
      const permits = assumed.policies.flatMap((id) => evaluator.policies.get(id) ?? []);
      const by = forbids.length > 0 ? forbids : permits.filter((policy) => policy.template === template);
      const demanding = template === all?.template ? all.demanding : by;
      return { ...offer(template, by, hasEffect(prepared)), ...grantableBy(demanding), permit: assumed.policies };
    }
  }
  // The reasons of requestable policies ask for an approval. No approval would help, so they are not passed on.
  return { kind: 'deny', reason: 'not_permitted', policies: determining };
}

/**
 * Where each of several forbids demands its own approval, only one that covers all of them helps. Those that the presented approval lifts
 * are among them, because it does not count any more when the next one is presented.
 */
function coveringAll(evaluator: Evaluator, prepared: Ready) {
  const unapproved = evaluator.evaluate(prepared);
  const ids = unapproved.kind === 'deny' ? unapproved.policies : [];
  const demanding = ids.flatMap((id) => evaluator.policies.get(id) ?? []);
  const all = new Set(demanding.flatMap(({ template }) => template ?? []));
  return all.size > 1 ? { template: [...all].sort().join(TEMPLATE_JOINT), demanding } : undefined;
}

/** The greatest grant that each of these policies allows. */
function grantableBy(demanding: readonly Policy[]): Pick<Requestable, 'grantable'> {
  const bounds = demanding.flatMap(({ grantable }) => grantable ?? []);
  if (bounds.length === 0 || bounds.length < demanding.length) return {};
  const least = (of: keyof GrantBounds) => Math.min(...bounds.map((one) => one[of]));
  return { grantable: { seconds: least('seconds'), uses: least('uses') } };
}

/** Whether something says what the tool does: the operator, or an accepted description. */
const hasEffect = ({ call }: Ready): boolean =>
  Object.hasOwn(Object((call.context as JsonObject)[HOST_MEMBERS.call]) as object, 'effect');

function offer(template: string, asking: readonly Policy[], isEffectKnown: boolean): Requestable {
  const title = asking.find((policy) => policy.title)?.title;
  const [description] = asking.flatMap((policy) => {
    const own = isEffectKnown ? policy.description : (policy.ifEffectUnknown ?? policy.description);
    return own ? [own] : [];
  });
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

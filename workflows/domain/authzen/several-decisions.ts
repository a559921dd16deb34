import type { Decision } from './evaluation.ts';

/**
 * What several decisions come to, and which of them says so. All have to allow (COAZ-EN-06). One requestable denial among nothing
 * but permits is requestable, because an approval for that question cures all there is to cure; with two or more, none would be
 * enough, so that is a plain denial.
 */
export function joinDecisions(decisions: readonly Decision[]): { readonly decision: Decision; readonly about: number } {
  const refused = decisions.flatMap((decision, about) => (decision.kind === 'allow' ? [] : [{ decision, about }]));
  const [first, ...others] = refused;
  if (first === undefined) {
    const [allow] = decisions;
    return { decision: allow ?? { kind: 'deny' }, about: 0 };
  }
  if (others.length === 0 && first.decision.kind === 'requestable') return first;
  const { decision, about } = refused.find((one) => one.decision.kind === 'deny') ?? first;
  const { reason } = decision;
  return { decision: { kind: 'deny', ...(reason !== undefined && { reason }) }, about };
}

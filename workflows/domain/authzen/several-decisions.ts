import type { Decision } from './evaluation.ts';

/**
 * What several decisions come to, and which of them says so. All have to allow (COAZ-EN-06). One requestable denial among nothing
 * but permits is requestable, because an approval for that question cures all there is to cure; with two or more, none would be
 * enough, so that is a plain denial.
 */
export function joinDecisions(decisions: readonly Decision[]): { readonly decision: Decision; readonly about: number } {
  const all = decisions.flatMap((decision, about) => (decision.kind === 'allow' ? [] : [{ decision, about }]));
  const [first, ...others] = all;
  if (first === undefined) {
    const [allow] = decisions;
    return { decision: allow ?? { kind: 'deny' }, about: 0 };
  }
  if (others.length === 0 && first.decision.kind === 'requestable') return first;
  const { decision, about } = all.find((one) => one.decision.kind === 'deny') ?? first;
  return { decision: refused(decision), about };
}

/** A decision as the denial that is all it is good for, with why, and with what was not complied with. */
export function refused(decision: Exclude<Decision, { kind: 'allow' }>): Extract<Decision, { kind: 'deny' }> {
  const { reason, obligations } = decision;
  return {
    kind: 'deny',
    ...(reason !== undefined && { reason }),
    ...(obligations !== undefined && { obligations }),
    ...('unmet' in decision && decision.unmet !== undefined && { unmet: decision.unmet }),
  };
}

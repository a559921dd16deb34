import type { Decision, PolicyBasis } from './evaluation.ts';

/**
 * What several decisions come to, and which of them says so. All have to allow (COAZ-EN-06). One requestable denial among nothing
 * but permits is requestable, because an approval for that question cures all there is to cure; with two or more, none would be
 * enough, so that is a plain denial.
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

/** A permit that rests on others as well, with everything that it rests on. Versions that differ are left out: there is no one version. */
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

/** A decision as the denial that is all it is good for, with why, and with what was not complied with. */
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

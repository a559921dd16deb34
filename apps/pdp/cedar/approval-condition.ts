import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import { ANOTHER, couldApply } from './possible.ts';
import { isObject } from './projection.ts';
import { APPROVAL_MEMBER } from './schema.ts';

/** A policy with `@requestable`, as Cedar reads it. */
type Requestable = Pick<PolicyJson, 'effect' | 'conditions'> & { readonly id: string; readonly template: string };

/**
 * What keeps a policy from meaning what its `@requestable` says, and how to mend it. A permit with it has to need an
 * approval: otherwise it permits at once what its author wanted to be asked about. And one of its template has to be enough.
 */
export function approvalProblem({ id, effect, conditions, template }: Requestable): string | undefined {
  if (effect === 'forbid') return undefined;
  const named = JSON.stringify(template);
  const fix = `Add to what has to hold: ${needed(template)}. Or remove @requestable if no approval is needed.`;
  if (couldApply(conditions, { approval: 'none' }))
    return `"${id}" is @requestable(${named}) and permits without an approval. ${fix}`;
  if (!couldApply(conditions, { approval: { template } }))
    return `"${id}" is @requestable(${named}) and an approval of that template never makes it permit. ${fix}`;
  return undefined;
}

/**
 * What is mostly a slip of the pen, and opens nothing without an approval: a permit that takes one of any template, and a forbid
 * that takes none.
 */
export function approvalWarning({ id, effect, conditions, template }: Requestable): string | undefined {
  const named = JSON.stringify(template);
  if (effect === 'permit')
    return couldApply(conditions, { approval: { template: ANOTHER } })
      ? `"${id}" is @requestable(${named}) and permits with an approval of any template. Add to what has to hold: ${needed(template)}`
      : undefined;
  if (looksAtApproval(conditions)) return undefined;
  return `"${id}" is @requestable(${named}) and forbids with an approval as well. Add: unless { ${needed(template)} }`;
}

const needed = (template: string) =>
  `context has approval && context.approval.verified && context.approval.template == ${JSON.stringify(template)}`;

/** Whether an expression reads an attribute that is named `approval`, or tests for one. */
function looksAtApproval(expression: unknown): boolean {
  if (Array.isArray(expression)) return expression.some(looksAtApproval);
  if (!isObject(expression)) return false;
  if ([expression['attr']].flat().includes(APPROVAL_MEMBER)) return true;
  return Object.values(expression).some(looksAtApproval);
}

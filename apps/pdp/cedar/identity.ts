import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import { isObject } from './projection.ts';

/** The two of a request that are entities. */
export type Named = 'principal' | 'resource';
export type NamedParts = Readonly<Record<Named, boolean>>;

/** The one attribute that says nothing of who or what an entity is. */
const PROPERTIES = 'properties';

/**
 * Whether a policy can tell apart two principals, or two resources, that have the same `properties`. It cannot when its scope is for any,
 * and its conditions take nothing of it but `properties`. One that names any entity in a condition may reach either by it.
 */
export function tellsApart({ principal, resource, conditions }: PolicyJson): NamedParts {
  const looked = { principal: principal.op !== 'All', resource: resource.op !== 'All' };
  look(conditions, looked);
  return looked;
}

function look(expression: unknown, looked: Record<Named, boolean>): void {
  if (Array.isArray(expression)) return expression.forEach((part) => look(part, looked));
  if (!isObject(expression)) return;
  if ('__entity' in expression) looked.principal = looked.resource = true;
  const { Var: name } = expression;
  if (name === 'principal' || name === 'resource') looked[name] = true;
  for (const [operator, operands] of Object.entries(expression))
    if (!takesProperties(operator, operands)) look(operands, looked);
}

/** `principal.properties`, `resource has properties.level` and the like. */
function takesProperties(operator: string, operands: unknown): boolean {
  if ((operator !== '.' && operator !== 'has') || !isObject(operands)) return false;
  const { left, attr } = operands;
  const [first] = Array.isArray(attr) ? (attr as unknown[]) : [attr];
  return isObject(left) && typeof left['Var'] === 'string' && first === PROPERTIES;
}

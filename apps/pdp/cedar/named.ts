import type { TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import { isObject } from './projection.ts';

/** Operators that look into the entity on their left: at its attributes, its tags, or the groups it is in. */
const LOOKING: ReadonlySet<string> = new Set(['.', 'has', 'hasTag', 'getTag', 'in', 'is']);

/**
 * Entities that these conditions name themselves and look into, as `Team::"t".lead` does. Cedar has to be told of them: it takes an
 * entity that it was not told of for one without attributes and groups, and a forbid that looks there would forbid nothing. One
 * that is only compared with needs no telling.
 */
export function namedIn(conditions: unknown): readonly TypeAndId[] {
  const named: TypeAndId[] = [];
  const look = (expression: unknown, isLookedInto: boolean): void => {
    if (Array.isArray(expression)) return expression.forEach((part) => look(part, isLookedInto));
    if (!isObject(expression)) return;
    const { __entity: uid } = expression;
    if (uid !== undefined && isLookedInto) named.push(uid as TypeAndId);
    for (const [operator, operands] of Object.entries(expression)) {
      if (LOOKING.has(operator) && isObject(operands)) {
        const { left, ...others } = operands;
        look(left, true);
        look(others, isLookedInto);
      } else look(operands, isLookedInto);
    }
  };
  look(conditions, false);
  return named;
}

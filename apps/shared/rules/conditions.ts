import type { Json } from '../../../workflows/domain/canonical-json.ts';
import type { ArgumentConditions, Condition } from './rules.ts';
import { climbs, hasLoneSurrogate, memberAt } from './values.ts';

/**
 * Whether arguments meet every condition, as for an `allow` rule: an argument that is missing or has another type meets none. The policy
 * decision point compiles the same conditions to Cedar, and a test compares the two.
 */
export const meetsConditions = (given: Json, where: readonly ArgumentConditions[]): boolean =>
  where.every(({ path, conditions }) => {
    const value = memberAt(given, path);
    return conditions.every((condition) => meets(value, condition));
  });

function meets(value: Json, condition: Condition): boolean {
  switch (condition.kind) {
    case 'present':
      return (value !== null) === condition.is;
    case 'oneOf':
      return isWhole(value) && condition.values.some((one) => one === value);
    case 'like':
      return typeof value === 'string' && isWhole(value) && !climbs(value) && isLike(value, condition.pattern);
    // Every number that a condition can name is a double, and doubles are in the order of their shortest texts.
    case 'over':
      return typeof value === 'number' && value > condition.bound;
    case 'under':
      return typeof value === 'number' && value < condition.bound;
  }
}

const isWhole = (value: Json): boolean => typeof value !== 'string' || !hasLoneSurrogate(value);

/** A star stands for any characters, `\*` for a star, and everything else for itself. */
function isLike(text: string, pattern: string): boolean {
  const [first = '', ...rest] = literalsOf(pattern);
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const literal of rest) {
    const found = text.indexOf(literal, at);
    if (found === -1) return false;
    at = found + literal.length;
  }
  return text.length - at >= last.length && text.endsWith(last);
}

/** The texts between the stars of a pattern, one more than there are stars. */
function literalsOf(pattern: string): string[] {
  const literals = [''];
  for (const part of pattern.split(/(\\\*|\*)/)) {
    if (part === '*') literals.push('');
    else literals.push(`${literals.pop() ?? ''}${part === '\\*' ? '*' : part}`);
  }
  return literals;
}

/**
 * The pattern of all texts with this beginning. Undefined if no pattern says that: a backslash before the star would make it a literal one.
 */
export const beginsWith = (beginning: string): string | undefined =>
  beginning.endsWith('\\') ? undefined : `${beginning.replaceAll('*', '\\*')}*`;

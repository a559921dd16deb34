/** Cedar expressions as text. */

/** A string literal with exactly this value. */
export const quoted = (value: string): string => `"${escaped(value)}"`;

/** A pattern for `like`: a star stands for any characters, `\*` for a star. */
export const likePattern = (pattern: string): string =>
  `"${pattern
    .split(/(\\\*|\*)/)
    .map((part) => (part === '*' || part === '\\*' ? part : escaped(part)))
    .join('')}"`;

/** Cedar knows fewer escapes than JSON does. */
const escaped = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  text.replace(/["\\\u0000-\u001f\u007f-\u009f]/g, (character) =>
    character === '"' || character === '\\' ? `\\${character}` : `\\u{${character.charCodeAt(0).toString(16)}}`,
  );

export const and = (parts: readonly string[]): string => joined(parts, '&&', 'true');
export const or = (parts: readonly string[]): string => joined(parts, '||', 'false');

function joined(parts: readonly string[], operator: string, none: string): string {
  const [first = none, ...others] = parts;
  return others.length === 0 ? first : parts.map((part) => `(${part})`).join(` ${operator} `);
}

export const not = (part: string): string => `!(${part})`;

export const anyLike = (expression: string, patterns: readonly string[]): string =>
  or(patterns.map((pattern) => `${expression} like ${likePattern(pattern)}`));

export function isOneOf(expression: string, values: readonly string[]): string {
  const [first = '', ...others] = values.map(quoted);
  return others.length === 0
    ? `${expression} == ${first}`
    : `[${[first, ...others].join(', ')}].contains(${expression})`;
}

/**
 * A test that only means something if a fact is known.
 *
 * @param isCautious Whether the expression is also true where the fact is not known.
 */
export const tested = (isKnown: string, test: string, isCautious: boolean): string =>
  isCautious ? or([not(isKnown), and([isKnown, test])]) : and([isKnown, test]);

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
  // eslint-disable-next-line no-control-regex
  text.replace(/["\\\u0000-\u001f\u007f-\u009f]/g, (character) =>
    character === '"' || character === '\\' ? `\\${character}` : `\\u{${character.charCodeAt(0).toString(16)}}`,
  );

export const and = (parts: readonly string[]): string =>
  parts.length === 0 ? 'true' : parts.map(grouped).join(' && ');
export const or = (parts: readonly string[]): string =>
  parts.length === 0 ? 'false' : parts.map(grouped).join(' || ');
export const not = (part: string): string => `!(${part})`;

const grouped = (part: string) => `(${part})`;

export const anyLike = (expression: string, patterns: readonly string[]): string =>
  or(patterns.map((pattern) => `${expression} like ${likePattern(pattern)}`));

export const isOneOf = (expression: string, values: readonly string[]): string =>
  `[${values.map(quoted).join(', ')}].contains(${expression})`;

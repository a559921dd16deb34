const INSTANT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)$/;

/**
 * The instant in UTC with six digits of a second, so that equal instants are equal text and earlier is smaller.
 * `undefined` when the text is no instant with a time zone (RFC 3339, at most microseconds).
 */
export function toInstant(text: string): string | undefined {
  const parts = INSTANT.exec(text);
  const millis = parts ? Date.parse(`${parts[1]}${parts[3]}`) : NaN;
  if (Number.isNaN(millis)) return undefined;
  return `${new Date(millis).toISOString().slice(0, 19)}.${(parts?.[2] ?? '').padEnd(6, '0')}Z`;
}

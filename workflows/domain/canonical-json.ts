export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/**
 * RFC 8785 serialisation: members sorted by UTF-16 code units, no white space, numbers and strings as ECMAScript
 * writes them. Equal values give equal text. Throws a `RangeError` on a number that is not finite and on a string
 * with an unpaired surrogate (RFC 8785 section 3.2.2.2 forbids it), because such a value has no canonical form.
 */
export function canonicalJson(value: Json): string {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('a number is not finite');
  if (typeof value === 'string') return quote(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.keys(value)
    .sort()
    .map((key) => `${quote(key)}:${canonicalJson(value[key] as Json)}`);
  return `{${members.join(',')}}`;
}

const isArray = (value: Json): value is readonly Json[] => Array.isArray(value);

/** Whether a JSON value is an object: neither a list nor null. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The object that a value is, else an empty one. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});

/** The value of a JSON text; undefined for any other text. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function quote(text: string): string {
  if (!text.isWellFormed()) throw new RangeError('a string has an unpaired surrogate');
  return JSON.stringify(text);
}

/** The record's own member. Names come from outside, and every object inherits a `constructor`. */
export const ownProperty = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

/** The value at a path of member names; `undefined` when there is none. */
export const valueAt = (value: Json, path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>((within, name) => ownProperty(objectOf(within), name), value);

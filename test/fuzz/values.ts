import fc from 'fast-check';

/** Texts that break parsers, maps, stores and headers. */
export const HARD_TEXTS: readonly string[] = [
  '',
  ' ',
  '__proto__',
  'constructor',
  'toString',
  '\u0000',
  '\ud800',
  '\u202e\ufeff',
  'a\r\nb: c',
  '%00%ff',
  '../../etc/passwd',
  "'; DROP TABLE gateway.gated_call; --",
  '${7*7}{{7*7}}',
  '=?base64?AA?=',
  '9'.repeat(1_000),
  'tsk_00000000000000000000000000000000',
];

/** Stands for JSON that no value serializes to, such as a number that is too long. */
const LITERAL = 'literal:';
const literal = (text: string) => `${LITERAL}${text}`;

const hardLiterals = fc.oneof(
  fc.constantFrom('1e999', '-0', '123456789012345678901', '0.1e-400', 'NaN', '01', '{"a":1,"a":2}', '{"__proto__":1}'),
  fc.integer({ min: 1, max: 20_000 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  fc.integer({ min: 1, max: 5_000 }).map((depth) => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)),
);

/** Any JSON value, and values that are hard on readers. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(...HARD_TEXTS, null, true, 0, -1, 1.5, 2 ** 53, 1e308, [], {}) },
  { weight: 1, arbitrary: fc.fullUnicodeString({ maxLength: 40 }) },
  { weight: 1, arbitrary: hardLiterals.map(literal) },
);

/** The JSON text of a value, with literals as they are. */
export const jsonOf = (value: unknown): string =>
  JSON.stringify(value).replace(
    new RegExp(`"${LITERAL}((?:[^"\\\\]|\\\\.)*)"`, 'g'),
    (_all, quoted: string) => JSON.parse(`"${quoted}"`) as string,
  );

/** One change to a JSON value. */
export interface Change {
  /** The index among all its members and items, in reading order; it wraps when there are fewer. */
  readonly place: number;
  readonly how: 'replace' | 'remove' | 'add beside';
  /** Of the added member. */
  readonly name: string;
  readonly value: unknown;
}

export const change: fc.Arbitrary<Change> = fc.record({
  place: fc.nat(40),
  how: fc.constantFrom('replace', 'remove', 'add beside'),
  name: fc.constantFrom(...HARD_TEXTS, 'id', 'method', 'params', '_meta', 'task', 'result', 'inputResponses'),
  value: oddValue,
});

/** The value with these changes, one after the other. */
export function changed(value: unknown, changes: readonly Change[]): unknown {
  const copy = structuredClone(value);
  for (const { place, how, name, value: put } of changes) {
    const places = placesIn(copy);
    const [container, key] = places[place % places.length] ?? [];
    if (container === undefined || key === undefined) break;
    if (how === 'remove') delete container[key];
    else define(container, how === 'replace' ? key : name, put);
  }
  return copy;
}

type Container = Record<string, unknown>;

function placesIn(value: unknown): [container: Container, key: string][] {
  if (value === null || typeof value !== 'object') return [];
  const container = value as Container;
  return Object.keys(container).flatMap((key) => [[container, key], ...placesIn(container[key])]);
}

/** As an own member, also where assignment would change the prototype. */
const define = (container: Container, key: string, value: unknown) =>
  Object.defineProperty(container, key, { value, enumerable: true, configurable: true, writable: true });

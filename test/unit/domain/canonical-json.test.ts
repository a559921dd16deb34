import { describe, expect, it } from '@jest/globals';
import { canonicalJson, type Json } from '../../../workflows/domain/canonical-json.ts';

/** RFC 8785 appendix B: bits of an IEEE 754 double, and the text it must have. */
const NUMBERS = [
  ['0000000000000000', '0'],
  ['8000000000000000', '0'],
  ['0000000000000001', '5e-324'],
  ['8000000000000001', '-5e-324'],
  ['7fefffffffffffff', '1.7976931348623157e+308'],
  ['ffefffffffffffff', '-1.7976931348623157e+308'],
  ['4340000000000000', '9007199254740992'],
  ['c340000000000000', '-9007199254740992'],
  ['4430000000000000', '295147905179352830000'],
  ['44b52d02c7e14af5', '9.999999999999997e+22'],
  ['44b52d02c7e14af6', '1e+23'],
  ['44b52d02c7e14af7', '1.0000000000000001e+23'],
  ['444b1ae4d6e2ef4e', '999999999999999700000'],
  ['444b1ae4d6e2ef4f', '999999999999999900000'],
  ['444b1ae4d6e2ef50', '1e+21'],
  ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
  ['3eb0c6f7a0b5ed8d', '0.000001'],
  ['41b3de4355555553', '333333333.3333332'],
  ['41b3de4355555557', '333333333.33333343'],
  ['becbf647612f3696', '-0.0000033333333333333333'],
  ['43143ff3c1cb0959', '1424953923781206.2'],
] as const;

const doubleOf = (bits: string): number => Buffer.from(bits, 'hex').readDoubleBE();

describe('canonicalJson', () => {
  it.each(NUMBERS)('writes the double %s as %s', (bits, text) => {
    expect(canonicalJson(doubleOf(bits))).toBe(text);
  });

  it.each([['7ff0000000000000'], ['fff0000000000000'], ['7fffffffffffffff']])('refuses the double %s', (bits) => {
    expect(() => canonicalJson({ deep: [doubleOf(bits)] })).toThrow(RangeError);
  });

  it('sorts members by UTF-16 code units, at every depth', () => {
    // RFC 8785 section 3.2.3: the emoji's surrogates sort before U+FB33, although its code point is higher.
    const value = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\u{1f600}': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    const sorted = ['\r', '1', '\u0080', '\u00f6', '\u20ac', '\u{1f600}', '\ufb33'];
    expect(Object.keys(JSON.parse(canonicalJson([{ inner: value }]))[0].inner)).toEqual(
      Object.keys(Object.fromEntries(sorted.map((key) => [key, 0]))),
    );
    expect(canonicalJson(value).match(/"[^"]*":/g)).toEqual(sorted.map((key) => `${JSON.stringify(key)}:`));
  });

  it('writes strings with the shortest escapes and no unnecessary escape', () => {
    expect(canonicalJson('\u20ac$\u000f\nA\'\u0042\u0022\u005c\\"/')).toBe(String.raw`"€$\u000f\nA'B\"\\\\\"/"`);
    expect(canonicalJson('\u2028\u007f\u{1f600}')).toBe('"\u2028\u007f\u{1f600}"');
    expect(canonicalJson('\b\t\f\r\u0000')).toBe(String.raw`"\b\t\f\r\u0000"`);
  });

  it.each([['\ud83d'], ['\ude00'], ['a\ude00\ud83d'], ['\ud83dx']])(
    'refuses an unpaired surrogate (case %#)',
    (text) => {
      expect(() => canonicalJson([text])).toThrow(RangeError);
      expect(() => canonicalJson({ [text]: 1 })).toThrow(RangeError);
    },
  );

  it('leaves no white space and keeps the order of arrays', () => {
    const value = { b: [3, 1, 2, [], {}], a: { d: null, c: [true, false] } };
    expect(canonicalJson(value)).toBe('{"a":{"c":[true,false],"d":null},"b":[3,1,2,[],{}]}');
  });

  it('gives equal text for equal values, in any spelling', () => {
    const one = JSON.parse('{"amount": 1.0e2, "to": "\\u0041nna", "tags": ["x"]}') as Json;
    const other = JSON.parse('{"tags":["x"],"to":"Anna","amount":100}') as Json;
    expect(canonicalJson(one)).toBe(canonicalJson(other));
  });

  it('round-trips: parsing the text and writing it again changes nothing', () => {
    const text = canonicalJson({ z: [1e21, -0, 0.1], a: '\u{1f600}', '': {} });
    expect(canonicalJson(JSON.parse(text) as Json)).toBe(text);
  });

  it.each([
    [null, 'null'],
    [true, 'true'],
    [false, 'false'],
    ['', '""'],
    [[], '[]'],
    [{}, '{}'],
  ] as const)('writes %j as %s', (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  it('treats a member called __proto__ as any other', () => {
    expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"a":2}}') as Json)).toBe('{"__proto__":{"a":2},"b":1}');
  });
});

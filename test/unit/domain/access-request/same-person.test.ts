import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isOnePerson, keysOf, nameKey } from '../../../../workflows/domain/access-request/same-person.ts';

describe('the form in which names are compared', () => {
  it.each([
    ['upper and lower case', 'Bob@X.test', 'bob@x.TEST'],
    ['letters that have two lower cases', '\u039F\u03A3', '\u03BF\u03C2'],
    ['a letter whose upper case has two', 'fu\u00DF', 'fuss'],
    ['blanks around and between', ' bob  smith\t', 'bob\u00A0smith'],
    ['the composition of letters', 'ren\u00E9', 'rene\u0301'],
    ['the width of letters', '\uFF42ob', 'bob'],
    ['characters that are invisible', 'b\u200Bo\u2060b\u00AD', 'bob'],
  ])('does not tell %s', (_what, one, other) => {
    expect(nameKey(one)).toBe(nameKey(other));
  });

  it('tells letters that only look alike, and names that have nothing else', () => {
    expect(nameKey('b\u043Eb')).not.toBe(nameKey('bob'));
    expect(nameKey(' ')).not.toBe(nameKey('\u200B'));
    expect(nameKey('')).toBe('');
  });

  it('stays as it is, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(nameKey(nameKey(text))).toBe(nameKey(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('makes one person of two sets with a common name, and of no others', () => {
    const names = fc.uniqueArray(fc.constantFrom('a', 'B', 'c', 'D'), { maxLength: 3 });
    fc.assert(
      fc.property(names, names, (some, others) => {
        const isOne = some.some((one) => others.includes(one));
        expect(isOnePerson(some, keysOf(others))).toBe(isOne);
        expect(isOnePerson(keysOf(others), some)).toBe(isOne);
      }),
    );
  });
});

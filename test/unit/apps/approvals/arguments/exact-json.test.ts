import { describe, expect, it } from '@jest/globals';
import { layOutJson } from '../../../../../apps/approvals/inbox/arguments/json-lines.ts';
import { canonicalJson, type Json } from '../../../../../workflows/domain/canonical-json.ts';

const laidOut = (value: Json) =>
  layOutJson(canonicalJson(value))
    .map(({ text }) => text)
    .join('');
const content = (value: Json) =>
  layOutJson(canonicalJson(value))
    .filter(({ kind }) => kind !== 'layout')
    .map(({ text }) => text)
    .join('');

describe('JSON laid out for reading', () => {
  it.each<[string, Json]>([
    ['an object', { b: [1, 2], a: { c: null } }],
    ['empty ones', { a: {}, b: [], c: '' }],
    ['a list of lists', [[[]], [{}], [[1]]]],
    ['text', 'text'],
    ['a number', -1.5e300],
    ['signs within strings', { '{"a":1,': '[x],{y}: "z" \\', '\\': '\\\\"', ']': '}' }],
    ['keys that look like other things', { __proto__x: 1, constructor: 2, '10': 3, '9': 4 }],
  ])('adds only blanks between tokens to %s', (_name, value) => {
    expect(content(value)).toBe(canonicalJson(value));
    expect(JSON.parse(laidOut(value))).toEqual(value);
  });

  it('looks like JSON that was indented by two', () => {
    const value = { a: [1, { b: 'x' }], c: {}, d: [] };
    expect(laidOut(value)).toBe(JSON.stringify(value, null, 2));
  });

  it('distinguishes keys from texts', () => {
    const pieces = layOutJson('{"key":"text","list":["text"]}');
    expect(pieces.filter(({ kind }) => kind === 'key').map(({ text }) => text)).toEqual(['"key"', '"list"']);
    expect(pieces.filter(({ kind }) => kind === 'text')).toHaveLength(2);
  });

  it('is faithful to random values', () => {
    let seed = 11;
    const next = (limit: number) => (seed = (seed * 48_271) % 2_147_483_647) % limit;
    const characters = ['"', '\\', '{', '}', '[', ']', ',', ':', ' ', '\n', 'a', '\u202e', '😀', '/', '\u0000'];
    const text = () => Array.from({ length: next(8) }, () => characters[next(characters.length)]).join('');
    const value = (depth: number): Json => {
      const kind = next(depth > 4 ? 4 : 6);
      if (kind === 0) return null;
      if (kind === 1) return next(2) === 0;
      if (kind === 2) return next(1_000_000) / 7;
      if (kind === 3) return text();
      const children = Array.from({ length: next(4) }, () => value(depth + 1));
      return kind === 4 ? children : Object.fromEntries(children.map((child) => [text(), child]));
    };
    for (let round = 0; round < 3_000; round += 1) {
      const one = value(0);
      expect(content(one)).toBe(canonicalJson(one));
      expect(JSON.parse(laidOut(one))).toEqual(one);
    }
  });

  it('lays out megabytes', () => {
    expect(content('x'.repeat(3_000_000))).toHaveLength(3_000_002);
  });
});

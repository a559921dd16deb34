import { describe, expect, it } from '@jest/globals';
import { sha256 } from '../../../../apps/shared/crypto.ts';
import { outlineOf } from '../../../../workflows/domain/access-request/outline.ts';
import type { Json } from '../../../../workflows/domain/canonical-json.ts';

const outline = (args: Json) => {
  const made = outlineOf(args, sha256);
  if (made === undefined) throw new Error('there is no outline');
  return made;
};
const leavesOf = (args: Json) => outline(args).leaves.map(({ path, json }) => `${path} ${json}`);

describe('the outline of arguments', () => {
  it('has each value with its path, in canonical order', () => {
    expect(leavesOf({ b: { d: true, c: [1, { e: 'x' }] }, a: null })).toEqual([
      'a null',
      'b.c[0] 1',
      'b.c[1].e "x"',
      'b.d true',
    ]);
  });

  it('writes names that are no plain words so that no two paths are equal', () => {
    expect(leavesOf({ 'a.b': 1, a: { b: 2 }, 'c[0]': 3, c: [4], '': 5 })).toEqual([
      '[""] 5',
      'a.b 2',
      '["a.b"] 1',
      'c[0] 4',
      '["c[0]"] 3',
    ]);
  });

  it('has empty objects and lists, and tells "1" from 1', () => {
    expect(leavesOf({ a: {}, b: [], c: '1', d: 1 })).toEqual(['a {}', 'b []', 'c "1"', 'd 1']);
    expect(leavesOf({})).toEqual([' {}']);
  });

  it('is whole only if nothing is cut or left out', () => {
    expect(outline({ a: 'x'.repeat(500) }).isWhole).toBe(true);
    expect(outline({ a: 'x'.repeat(501) })).toMatchObject({ isWhole: false, leaves: [{ cut: { length: 501 } }] });
    expect(outline(Array.from({ length: 41 }, (_, n) => n)).isWhole).toBe(false);
    expect(outline({ ['k'.repeat(201)]: 1 })).toMatchObject({ isWhole: false, leaves: [] });
  });

  it('has a greatest size, also for large arguments', () => {
    const large = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`k${n}`, 'y'.repeat(1_000)]));
    expect(JSON.stringify(outline(large)).length).toBeLessThan(12_000);
  });

  it('tells two long texts with the same start apart', () => {
    const [one, other] = ['a', 'b'].map((end) => outline({ text: `${'x'.repeat(600)}${end}` }));
    expect(one?.leaves[0]?.json).toBe(other?.leaves[0]?.json);
    expect(one?.leaves[0]?.cut?.digest).not.toBe(other?.leaves[0]?.cut?.digest);
  });

  it('cuts no character in two', () => {
    const [leaf] = outline({ text: `${'x'.repeat(499)}\u{1f600}${'x'.repeat(10)}` }).leaves;
    expect(leaf?.json).toBe(`"${'x'.repeat(499)}"`);
  });

  it('gives calls with the same paths one shape, where the length of a list does not count', () => {
    const shape = (args: Json) => outline(args).shape;
    expect(shape({ a: 1, b: [1, 2] })).toBe(shape({ a: 'x', b: [3] }));
    expect(shape({ a: 1 })).not.toBe(shape({ a: 1, b: 1 }));
    expect(shape({ a: [{ x: 1 }] })).not.toBe(shape({ a: [{ y: 1 }] }));
  });

  it('does not exist for a request without arguments', () => {
    expect(outlineOf(undefined, sha256)).toBeUndefined();
  });
});

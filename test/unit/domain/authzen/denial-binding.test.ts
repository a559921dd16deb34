import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { boundBundle, boundParts, isSameJson } from '../../../../workflows/domain/authzen/denial-binding.ts';
import { canonicalJson } from '../../../../workflows/domain/canonical-json.ts';

const transfer = (context: Record<string, string | number | null> = { agent: 'agent-7', amount: 50_000 }) => ({
  subject: { type: 'identity', id: 'alice@example.com' },
  resource: { type: 'account', id: 'acct-991' },
  action: { name: 'wire_transfer' },
  context,
});
const hash = (parts: ReturnType<typeof boundParts>) =>
  createHash('sha256').update(canonicalJson(parts)).digest('base64url');
const MEMBERS = ['agent', 'amount'];

describe('the binding of a denial', () => {
  it.each([
    ['the named members', boundParts(transfer(), MEMBERS), '1D3AUzxxGix20RNsi3F0diqdPOJ7sP6ZHV3L9p3Tyn8'],
    ['no member', boundParts(transfer(), []), 'iVScull4ZkZejfUf8P5oOnL31hBtxnJvaj4ppRRMy5c'],
    [
      'another amount',
      boundParts(transfer({ agent: 'agent-7', amount: 60_000 }), MEMBERS),
      'pSR0yX2Sv4lGvXJRioZ1UuDa1-ph0OSWqvxyp79uAzg',
    ],
  ])('hashes to the known value with %s [ARAP-BND-10]', (_name, parts, expected) => {
    expect(hash(parts)).toBe(expected);
  });

  describe('together', () => {
    const items = [transfer({ agent: 'agent-7' }), { ...transfer(), resource: { type: 'account', id: 'acct-992' } }];

    it('hashes to the known value in the order of the items, and to another value in any other order [ARAP-BLK-03]', () => {
      const known = 'ezMK1On_fP4SJX2R-IcQLe9QzNV130c7GvrHUFxeqoA';
      expect(hash(boundBundle(items, ['agent']))).toBe(known);
      expect(hash(boundBundle([...items].reverse(), ['agent']))).not.toBe(known);
      expect(hash(boundBundle([...items, ...items.slice(1)], ['agent']))).not.toBe(known);
    });

    it('never equals the binding of a single one', () => {
      expect(boundBundle(items.slice(0, 1), ['agent'])).not.toEqual(
        boundParts(transfer({ agent: 'agent-7' }), ['agent']),
      );
      expect(() => boundBundle([], [])).toThrow('has items');
    });
  });

  it('leaves out members that are not named, and those that a PDP answers [ARAP-GEN-10]', () => {
    const request = transfer({ agent: 'agent-7', amount: 50_000, note: 'x', reason: 'y', approval: 'z' });
    expect(boundParts(request, [...MEMBERS, 'reason', 'approval'])).toEqual(boundParts(transfer(), MEMBERS));
  });

  it('distinguishes an absent member from one that is null', () => {
    expect(boundParts(transfer(), [...MEMBERS, 'gone'])['context']).not.toHaveProperty('gone');
    expect(boundParts(transfer({ gone: null }), ['gone'])['context']).toEqual({ gone: null });
  });

  it('leaves out the delegation of the subject, and keeps an emptied list of properties [ARAP-BND-11]', () => {
    const delegated = { ...transfer(), subject: { type: 'identity', id: 'a', properties: { act: { sub: 'b' } } } };
    expect(boundParts(delegated, [])['subject']).toEqual({ type: 'identity', id: 'a', properties: {} });
  });
});

describe('sameness of JSON', () => {
  it.each([
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [1, 1.0, true],
    [1, '1', false],
    [[1, 2], [2, 1], false],
    [{ a: null }, {}, false],
    ['é', 'e\u0301', false],
  ] as const)('of %j and %j is %s [ARAP-BND-12]', (a, b, same) => {
    expect(isSameJson(a, b)).toBe(same);
  });
});

import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { canonicalJson, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { callDigest, isIntact, type Sha256 } from '../../../workflows/domain/gated-call/call-binding.ts';

const sha256: Sha256 = (text) => createHash('sha256').update(text, 'utf8').digest('hex');
const digest = (tool: string, args: JsonObject) => callDigest({ tool, arguments: args }, sha256);

const bound = (over: Partial<{ tool: string; arguments: string; callDigest: string }> = {}) => {
  const args = { amount: 100, to: 'Änne' };
  return { tool: 'bank__pay', arguments: canonicalJson(args), callDigest: digest('bank__pay', args), ...over };
};

describe('callDigest', () => {
  it('is the SHA-256 of the canonical tool and arguments', () => {
    expect(digest('bank__pay', { to: 'a', amount: 1 })).toBe(
      `sha-256:${sha256('{"arguments":{"amount":1,"to":"a"},"tool":"bank__pay"}')}`,
    );
  });

  it('does not depend on the order in which arguments were written', () => {
    expect(digest('t', { a: 1, b: { c: 2, d: 3 } })).toBe(digest('t', { b: { d: 3, c: 2 }, a: 1 }));
  });

  it.each([
    ['another tool', 'u', { a: 1 }],
    ['another value', 't', { a: 2 }],
    ['a value of another type', 't', { a: '1' }],
    ['one more argument', 't', { a: 1, b: null }],
    ['one argument less', 't', {}],
  ])('differs for %s', (_, tool, args) => {
    expect(digest(tool, args)).not.toBe(digest('t', { a: 1 }));
  });

  it('cannot be matched by moving text between tool and arguments', () => {
    expect(digest('t","arguments":{}', {})).not.toBe(digest('t', {}));
  });
});

describe('isIntact', () => {
  it('accepts an unchanged binding', () => {
    expect(isIntact(bound(), sha256)).toBe(true);
  });

  it.each([
    ['changed arguments', bound({ arguments: '{"amount":1000,"to":"Änne"}' })],
    ['another tool', bound({ tool: 'bank__refund' })],
    ['another digest', bound({ callDigest: digest('bank__pay', {}) })],
    ['an empty digest', bound({ callDigest: '' })],
    ['arguments that are not JSON', bound({ arguments: '{"amount":' })],
    ['arguments that have no canonical form', bound({ arguments: '{"to":"\\ud800"}' })],
  ])('refuses %s', (_, binding) => {
    expect(isIntact(binding, sha256)).toBe(false);
  });
});

import { describe, expect, it } from '@jest/globals';
import { createEvaluator } from '../../../apps/pdp/engine/cedar/evaluator.ts';
import { answerByPolicy } from '../../../apps/pdp/offer/requestable.ts';
import { takeSlot } from '../../../apps/pdp/engine/cedar/slices.ts';
import { aCall, SCHEMA } from '../../support/policy-folder.ts';

const engineWith = (...texts: string[]) =>
  createEvaluator({ schema: SCHEMA, entities: '[]', policies: [{ file: 'a.cedar', text: texts.join('\n') }] });
const asks =
  (...texts: string[]) =>
  (tool: string, subject = 'agent') =>
    answerByPolicy(engineWith(...texts), aCall(tool, subject)).kind;

const PERMIT = '@id("p") permit (principal, action, resource);';
/** Enough to need several sets. None of them applies. */
const MANY = Array.from(
  { length: 260 },
  (_, index) => `@id("m${index}") permit (principal, action, resource) when { resource.id == "none-${index}" };`,
);

describe('policies that name a tool or a subject in their scope', () => {
  it('apply to that tool or subject only', () => {
    const ask = asks('@id("a") permit (principal, action, resource == Resource::"tool|a");');
    expect([ask('a'), ask('b')]).toEqual(['permit', 'deny']);
    const own = asks('@id("a") permit (principal == Subject::"identity|alice", action, resource);');
    expect([own('x', 'alice'), own('x', 'bob')]).toEqual(['permit', 'deny']);
    const both = asks(
      '@id("a") permit (principal == Subject::"identity|alice", action, resource == Resource::"tool|a");',
    );
    expect([both('a', 'alice'), both('b', 'alice'), both('a', 'bob')]).toEqual(['permit', 'deny', 'deny']);
  });

  it.each([
    ['a tool', 'forbid (principal, action, resource == Resource::"tool|a");'],
    ['a subject', 'forbid (principal == Subject::"identity|agent", action, resource);'],
    ['an action', 'forbid (principal, action == Action::"tools/call", resource);'],
    ['nothing', 'forbid (principal, action, resource);'],
  ])('forbid what others permit when they name %s', (_what, forbid) => {
    const tools = '@id("t") permit (principal, action, resource == Resource::"tool|a");';
    for (const texts of [[PERMIT], [tools], [PERMIT, ...MANY], [...MANY, tools]])
      expect(asks(...texts, `@id("f") ${forbid}`)('a')).toBe('deny');
  });

  it('fail the request if one of them cannot be evaluated, in any set', () => {
    const error = 'when { 9223372036854775807 + (if resource.id == "a" then 1 else 0) > 0 };';
    for (const scope of [
      '(principal, action, resource == Resource::"tool|a")',
      '(principal == Subject::"identity|agent", action, resource)',
      '(principal, action, resource)',
    ]) {
      const ask = asks(PERMIT, ...MANY, `@id("zz") forbid ${scope} ${error}`);
      expect(ask('a')).toBe('failed');
    }
  });

  it('determine an answer together, in the order of their names', () => {
    const evaluator = engineWith(
      '@id("c") permit (principal, action, resource);',
      ...MANY,
      '@id("b") permit (principal, action, resource == Resource::"tool|a");',
      '@id("a") permit (principal == Subject::"identity|agent", action, resource);',
    );
    expect(answerByPolicy(evaluator, aCall('a'))).toEqual({ kind: 'permit', policies: ['a', 'b', 'c'] });
  });

  it('are refused with their own line, after comments and other policies', () => {
    const text = `// é is two bytes\n${PERMIT} ${PERMIT.replace('"p"', '"q"')}\n\n  // words\n  @id("r") permit (principal, action, resource) when { resource.rank };`;
    expect(() => engineWith(text)).toThrow(/^a\.cedar:5:\d+: .*rank/);
  });
});

describe('names in the memory of Cedar', () => {
  it('are reused, so that reloading does not fill it', () => {
    const nameIn = (slot: ReturnType<typeof takeSlot>) => slot.keepSchema('entity Subject;');
    const first = takeSlot();
    const name = nameIn(first);
    expect(nameIn(first)).not.toBe(name);
    expect(nameIn(takeSlot())).not.toBe(name);
    first.release();
    expect(nameIn(takeSlot())).toBe(name);
  });
});

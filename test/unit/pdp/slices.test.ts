import { describe, expect, it } from '@jest/globals';
import { createEvaluator } from '../../../apps/pdp/engine/cedar/evaluator.ts';
import { answerByPolicy } from '../../../apps/pdp/offer/requestable.ts';
import { takeSlot } from '../../../apps/pdp/engine/cedar/slices.ts';
import { aCall, SCHEMA } from '../../support/policy-folder.ts';

const engineWith = (...texts: string[]) =>
  createEvaluator({ schema: SCHEMA, entities: '[]', policies: [{ file: 'a.cedar', text: texts.join('\n') }] });
const asks = (...texts: string[]) => {
  const engine = engineWith(...texts);
  return async (tool: string, subject = 'agent') => answerByPolicy(await engine, aCall(tool, subject)).kind;
};

const PERMIT = '@id("p") permit (principal, action, resource);';
/** Enough policies to need several sets. Not one of them applies. */
const MANY = Array.from(
  { length: 260 },
  (_, index) => `@id("m${index}") permit (principal, action, resource) when { resource.id == "none-${index}" };`,
);

describe('policies that name a tool or a subject in their scope', () => {
  it('apply only to that tool or subject', async () => {
    const ask = asks('@id("a") permit (principal, action, resource == Resource::"tool|a");');
    expect(await Promise.all([ask('a'), ask('b')])).toEqual(['permit', 'deny']);
    const own = asks('@id("a") permit (principal == Subject::"identity|alice", action, resource);');
    expect(await Promise.all([own('x', 'alice'), own('x', 'bob')])).toEqual(['permit', 'deny']);
    const both = asks(
      '@id("a") permit (principal == Subject::"identity|alice", action, resource == Resource::"tool|a");',
    );
    expect(await Promise.all([both('a', 'alice'), both('b', 'alice'), both('a', 'bob')])).toEqual([
      'permit',
      'deny',
      'deny',
    ]);
  });

  it.each([
    ['a tool', 'forbid (principal, action, resource == Resource::"tool|a");'],
    ['a subject', 'forbid (principal == Subject::"identity|agent", action, resource);'],
    ['an action', 'forbid (principal, action == Action::"tools/call", resource);'],
    ['nothing', 'forbid (principal, action, resource);'],
  ])('forbid calls that others permit when they name %s', async (_what, forbid) => {
    const tools = '@id("t") permit (principal, action, resource == Resource::"tool|a");';
    for (const texts of [[PERMIT], [tools], [PERMIT, ...MANY, tools]])
      expect(await asks(...texts, `@id("f") ${forbid}`)('a')).toBe('deny');
  });

  it('fail the request if one of them cannot be evaluated, in any set', async () => {
    const failing = (tool: string) => `when { 9223372036854775807 + (if resource.id == "${tool}" then 1 else 0) > 0 };`;
    const ask = asks(
      ...[PERMIT, ...MANY],
      `@id("x") forbid (principal, action, resource == Resource::"tool|a") ${failing('a')}`,
      `@id("y") forbid (principal == Subject::"identity|agent", action, resource) ${failing('b')}`,
      `@id("z") forbid (principal, action, resource) ${failing('c')}`,
    );
    expect(await Promise.all(['a', 'b', 'c'].map((tool) => ask(tool)))).toEqual(['failed', 'failed', 'failed']);
  });

  it('determine an answer together, in the order of their names', async () => {
    const evaluator = await engineWith(
      '@id("c") permit (principal, action, resource);',
      ...MANY,
      '@id("b") permit (principal, action, resource == Resource::"tool|a");',
      '@id("a") permit (principal == Subject::"identity|agent", action, resource);',
    );
    expect(answerByPolicy(evaluator, aCall('a'))).toEqual({ kind: 'permit', policies: ['a', 'b', 'c'] });
  });

  it('are refused with their own line, after comments and other policies', async () => {
    const text = `// é is two bytes\n${PERMIT} ${PERMIT.replace('"p"', '"q"')}\n\n  // words\n  @id("r") permit (principal, action, resource) when { resource.rank };`;
    await expect(engineWith(text)).rejects.toThrow(/^a\.cedar:5:\d+: .*rank/);
  });
});

describe('names in the memory of Cedar', () => {
  it('are reused, so that reloading does not fill it', async () => {
    const nameIn = (slot: ReturnType<typeof takeSlot>) => slot.keepSchema('entity Subject;');
    const first = takeSlot();
    const name = nameIn(first);
    expect(nameIn(first)).not.toBe(name);
    expect(nameIn(takeSlot())).not.toBe(name);
    first.release();
    expect(nameIn(takeSlot())).toBe(name);
  });
});

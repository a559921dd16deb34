import { describe, expect, it } from '@jest/globals';
import { createEvaluator } from '../../../apps/pdp/engine/cedar/evaluator.ts';
import { readPolicies } from '../../../apps/pdp/engine/cedar/policies.ts';
import { answerByPolicy } from '../../../apps/pdp/offer/requestable.ts';
import { compileRule } from '../../../apps/pdp/rules/compile.ts';
import { schemaForRules } from '../../../apps/pdp/rules/schema.ts';
import { ruleSettings } from '../../../apps/shared/config/rule-settings.ts';
import { ruleFile } from '../../../apps/shared/rules/rules.ts';

const SCHEMA = `
entity Subject = { id: String };
entity Resource = { type: String, id: String };
action "tools/call" appliesTo { principal: Subject, resource: Resource, context: { agent?: String } };
`;
const REQUEST = {
  subject: { type: 'identity', id: 'alice' },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id: 'files__write' },
  context: { call: { tool: 'files__write', roles: [] } },
};

/** The grant that policy allows on the request of a call that these rules hold. */
async function grantableBy(rules: readonly object[], approved?: string) {
  const parsed = rules.map((rule, index) =>
    ruleSettings.parse({ approve: 'files__*', name: `rule ${index}`, ...rule }),
  );
  const evaluator = await createEvaluator({
    policies: parsed.map((rule, index) => ({ file: ruleFile(index), text: compileRule(rule, {}) })),
    schema: schemaForRules(SCHEMA, parsed, true),
    entities: '[]',
  });
  const answer = answerByPolicy(
    evaluator,
    REQUEST,
    approved === undefined ? undefined : { verified: true, template: approved },
  );
  evaluator.release();
  if (answer.kind !== 'requestable') throw new Error(`the call is not held: ${answer.kind}`);
  return answer.grantable;
}
const rule = (minutes: number, uses: number, by?: string) => ({ grantable: { minutes, uses }, ...(by && { by }) });

describe('the grant that policy allows on a request', () => {
  it('is that of its rule', async () => {
    expect(await grantableBy([rule(30, 10)])).toEqual({ seconds: 1_800, uses: 10 });
  });

  it('is none without a word of it', async () => {
    expect(await grantableBy([{}])).toBeUndefined();
  });

  it('is the smallest of several rules, time and uses apart', async () => {
    expect(await grantableBy([rule(30, 10), rule(60, 5)])).toEqual({ seconds: 1_800, uses: 5 });
    expect(await grantableBy([rule(30, 10, 'a'), rule(5, 20, 'b')])).toEqual({ seconds: 300, uses: 10 });
  });

  it('is none if one of several rules has no word of it, in either order', async () => {
    expect(await grantableBy([rule(30, 10), {}])).toBeUndefined();
    expect(await grantableBy([{ by: 'a' }, rule(30, 10, 'b')])).toBeUndefined();
    expect(await grantableBy([rule(30, 10, 'a'), { by: 'b' }])).toBeUndefined();
  });

  it('is none if a rule without a word of it is lifted by the presented approval alone', async () => {
    expect(await grantableBy([{ by: 'a' }, rule(30, 10, 'b')], 'a')).toBeUndefined();
    expect(await grantableBy([rule(20, 3, 'a'), rule(30, 10, 'b')], 'a')).toEqual({ seconds: 1_200, uses: 3 });
  });

  it.each([
    [{ minutes: 0, uses: 1 }],
    [{ minutes: 1_441, uses: 1 }],
    [{ minutes: 1.5, uses: 1 }],
    [{ minutes: 1, uses: 0 }],
    [{ minutes: 1, uses: 1_001 }],
    [{ minutes: 1 }],
    [{ uses: 1 }],
  ])('cannot be %j in a rule', (grantable) => {
    expect(ruleSettings.safeParse({ approve: '*', grantable }).success).toBe(false);
  });

  it('is for rules that hold calls', () => {
    expect(ruleSettings.safeParse({ allow: '*', ...rule(1, 1) }).success).toBe(false);
  });
});

describe('@grantable', () => {
  const policy = (annotations: string) => [
    {
      file: 'a.cedar',
      text: `@id("a") ${annotations} permit (principal, action, resource) when { context.approval.verified };`,
    },
  ];
  const read = (annotations: string) => readPolicies(policy(annotations));

  it.each([
    ['30m, 10', { seconds: 1_800, uses: 10 }],
    ['1440m,1000', { seconds: 86_400, uses: 1_000 }],
  ])('reads %s', async (text, bounds) => {
    const { policies } = await read(`@requestable("t") @grantable("${text}")`);
    expect(policies.get('a')?.grantable).toEqual(bounds);
  });

  it.each(['', '30', '30m', '10, 30m', '0m, 10', '30m, 0', '1441m, 1', '1m, 1001', '1h, 2', '-1m, 2', '30m, 10, any'])(
    'refuses "%s"',
    async (text) => {
      await expect(read(`@requestable("t") @grantable("${text}")`)).rejects.toThrow();
    },
  );

  it('warns where no request is asked for', async () => {
    const { warnings } = await read('@grantable("30m, 10")');
    expect(warnings.map(({ message }) => message)).toEqual([
      '@grantable of "a" has no effect without @requestable, since no request is asked for.',
    ]);
  });
});

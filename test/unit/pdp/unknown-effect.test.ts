import { expect, it } from '@jest/globals';
import * as z from 'zod';
import { createEvaluator } from '../../../apps/pdp/engine/cedar/evaluator.ts';
import { answerByPolicy } from '../../../apps/pdp/offer/requestable.ts';
import { compileRule } from '../../../apps/pdp/rules/compile.ts';
import { schemaForRules } from '../../../apps/pdp/rules/schema.ts';
import { ruleSettings } from '../../../apps/shared/config/rule-settings.ts';
import { ruleFile } from '../../../apps/shared/rules/rules.ts';
import { SMALL_SCHEMA, writing } from '../../support/compiled-rules.ts';

const DELETES = 'Deletes something for good.';
const UNKNOWN = expect.stringContaining('It is not known what this tool does');

/** What approvers read about calls of a tool with each of these effects. */
async function descriptions(written: readonly object[], effects: readonly (string | undefined)[]) {
  const rules = z.array(ruleSettings).parse(written);
  const policies = rules.map((rule, index) => ({ file: ruleFile(index), text: compileRule(rule, {}) }));
  const evaluator = await createEvaluator({
    policies,
    schema: schemaForRules(SMALL_SCHEMA, rules, true),
    entities: '[]',
  });
  const { context, ...request } = writing({});
  const found = effects.map((effect) => {
    const call = { tool: 'shop__buy_milk', roles: [], ...(effect !== undefined && { effect }) };
    const answer = answerByPolicy(evaluator, { ...request, context: { ...context, call } });
    return answer.kind === 'requestable' ? answer.description : answer.kind;
  });
  expect(evaluator.warnings).toEqual([]);
  evaluator.release();
  return found;
}

it.each([
  { effect: 'delete' },
  { effect: ['delete', 'external'] },
  { tool: '*', not: { effect: ['read', 'write', 'external'] } },
])('approvers of a call of unknown effect do not read what the rule says of its effect: %j', async (match) => {
  const rule = { approve: match, description: DELETES, name: 'deletes' };
  expect(await descriptions([rule], ['delete', undefined])).toEqual([DELETES, UNKNOWN]);
});

it('a rule without an effect says the same of every tool', async () => {
  const rule = { approve: 'shop__*', description: 'Buys something.' };
  expect(await descriptions([rule], ['delete', undefined])).toEqual(['Buys something.', 'Buys something.']);
});

it('says that the effect is not known although the rule has no description', async () => {
  expect(await descriptions([{ approve: { effect: 'delete' } }], ['delete', undefined, 'read'])).toEqual([
    undefined,
    UNKNOWN,
    'deny',
  ]);
});

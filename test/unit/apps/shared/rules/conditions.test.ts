import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createEvaluator } from '../../../../../apps/pdp/engine/cedar/evaluator.ts';
import { answerByPolicy } from '../../../../../apps/pdp/offer/requestable.ts';
import { compileRule } from '../../../../../apps/pdp/rules/compile.ts';
import { schemaForRules } from '../../../../../apps/pdp/rules/schema.ts';
import { argumentConditions } from '../../../../../apps/shared/config/condition-settings.ts';
import { ruleSettings } from '../../../../../apps/shared/config/rule-settings.ts';
import { beginsWith, meetsConditions } from '../../../../../apps/shared/rules/conditions.ts';
import { type Rule, ruleFile } from '../../../../../apps/shared/rules/rules.ts';
import type { EvaluationRequest } from '../../../../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../../../../workflows/domain/canonical-json.ts';
import { condition, value } from '../../../pdp/drawn-rules.ts';
import { times } from '../../../../support/regime.ts';

const SCHEMA = `
entity Subject = { id: String };
entity Resource = { type: String, id: String };
action "tools/call" appliesTo { principal: Subject, resource: Resource, context: { agent?: String } };
`;

const evaluatorOf = (rule: Rule) =>
  createEvaluator({
    policies: [{ file: ruleFile(0), text: compileRule(rule, {}) }],
    schema: schemaForRules(SCHEMA, [rule], true),
    entities: '[]',
  });
const allowing = (where: object) => ruleSettings.parse({ allow: { tool: '*', where }, name: 'rule' });

const where = fc.dictionary(fc.constantFrom('path', 'target.path'), condition, { minKeys: 1, maxKeys: 2 });
const calls = fc.array(fc.dictionary(fc.constantFrom('path', 'target'), value, { maxKeys: 2 }), {
  minLength: 20,
  maxLength: 20,
});

/** A call of any tool with these arguments. */
const callWith = (args: JsonObject): EvaluationRequest => ({
  subject: { type: 'identity', id: 'alice' },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id: 't' },
  context: { arguments: args, call: { tool: 't', roles: [] } },
});

describe('conditions on arguments', () => {
  it('mean the same here and in a compiled rule', async () => {
    const seen = new Set<boolean>();
    await fc.assert(
      fc.asyncProperty(where, calls, async (written, given) => {
        const evaluator = await evaluatorOf(allowing(written));
        try {
          for (const args of given) {
            const isMet = meetsConditions(args, argumentConditions.parse(written));
            expect(isMet).toBe(answerByPolicy(evaluator, callWith(args)).kind === 'permit');
            seen.add(isMet);
          }
        } finally {
          evaluator.release();
        }
      }),
      { numRuns: times(10, 100), examples: [[{ path: { present: true } }, [{ path: 'a' }, {}]]] },
    );
    expect(seen.size).toBe(2);
  });

  it('take a pattern of a beginning as Cedar does', async () => {
    for (const beginning of ['a', '*', 'a*b', 'a**b', '"*"']) {
      const written = { path: { like: beginsWith(beginning) } };
      const evaluator = await evaluatorOf(allowing(written));
      try {
        for (const path of [
          beginning,
          `${beginning}x`,
          `x${beginning}`,
          beginning.slice(0, -1),
          beginning.replace('*', 'x'),
        ]) {
          const isMet = meetsConditions({ path }, argumentConditions.parse(written));
          expect([beginning, path, isMet]).toEqual([beginning, path, path.startsWith(beginning)]);
          expect(answerByPolicy(evaluator, callWith({ path })).kind === 'permit').toBe(isMet);
        }
      } finally {
        evaluator.release();
      }
    }
  });

  it('have no pattern for a beginning that ends with a backslash', () => {
    expect(beginsWith('C:\\dir\\')).toBeUndefined();
  });
});

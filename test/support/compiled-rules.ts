import * as z from 'zod';
import { createEvaluator } from '../../apps/pdp/engine/cedar/evaluator.ts';
import { answerByPolicy } from '../../apps/pdp/offer/requestable.ts';
import { compileRule } from '../../apps/pdp/rules/compile.ts';
import { schemaForRules } from '../../apps/pdp/rules/schema.ts';
import { ruleSettings } from '../../apps/shared/config/rule-settings.ts';
import { exceptionsTo, ruleFile } from '../../apps/shared/rules/rules.ts';
import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';

/** Without the other methods of the protocol, which cost more than the rules do. */
export const SMALL_SCHEMA = `
entity Group;
entity Subject in [Group] = { id: String };
entity Resource = { type: String, id: String };
action "tools/call" appliesTo { principal: Subject, resource: Resource, context: { agent?: String } };
`;

/** A call of `files__write` with these arguments. */
export const writing = (args: JsonObject): EvaluationRequest => ({
  subject: { type: 'identity', id: 'alice' },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id: 'files__write' },
  context: {
    agent: 'cli',
    arguments: args,
    call: { tool: 'files__write', server: 'files', effect: 'write', roles: [] },
  },
});

/** Rules as their author writes them, compiled to Cedar as the decision point does. */
export async function compiledRules(written: readonly object[]) {
  const rules = z.array(ruleSettings).parse(written);
  const evaluator = await createEvaluator({
    policies: rules.map((rule, index) => ({
      file: ruleFile(index),
      text: compileRule(rule, {}, exceptionsTo(rule, rules)),
    })),
    schema: schemaForRules(SMALL_SCHEMA, rules, true),
    entities: '[]',
  });
  return {
    /** What becomes of a call with these arguments, at an instant in milliseconds since 1970. Default: now. */
    outcome: (args: JsonObject, at?: number) => answerByPolicy(evaluator, writing(args), undefined, at).kind,
    release: () => evaluator.release(),
  };
}

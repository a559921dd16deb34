import { expect } from '@jest/globals';
import fc from 'fast-check';
import * as z from 'zod';
import { createEvaluator, type EvaluatorFiles } from '../../../apps/pdp/engine/cedar/evaluator.ts';
import { answerByPolicy } from '../../../apps/pdp/offer/requestable.ts';
import { compileRule } from '../../../apps/pdp/rules/compile.ts';
import { schemaForRules } from '../../../apps/pdp/rules/schema.ts';
import { ruleSettings } from '../../../apps/shared/config/rule-settings.ts';
import { exceptionsTo, ruleFile, TEMPLATE_JOINT } from '../../../apps/shared/rules/rules.ts';
import { SMALL_SCHEMA } from '../../support/compiled-rules.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { requests, ruleSets } from './drawn-rules.ts';
import { decide, type Verdict, WORLD, type WrittenRule } from './rules-model.ts';

const GROUPS = [...new Set(Object.values(WORLD.groups).flat())];
/** The people of the model with their groups. */
const ENTITIES = JSON.stringify([
  ...GROUPS.map((id) => ({ uid: { type: 'Group', id } })),
  ...Object.entries(WORLD.groups).map(([id, groups]) => ({
    uid: { type: 'Subject', id: `identity|${id}` },
    parents: groups.map((group) => ({ type: 'Group', id: group })),
  })),
]);

function filesOf(written: readonly WrittenRule[]): EvaluatorFiles {
  const rules = z.array(ruleSettings).parse(written);
  return {
    policies: rules.map((rule, index) => ({
      file: ruleFile(index),
      text: compileRule(rule, WORLD.prefixes, exceptionsTo(rule, rules)),
    })),
    schema: schemaForRules(SMALL_SCHEMA, rules, true),
    entities: ENTITIES,
  };
}

/** What the compiled rules answer to calls of `alice` with these contexts. */
export async function outcomeBy(rules: readonly WrittenRule[], contexts: readonly JsonObject[]): Promise<string[]> {
  const evaluator = await createEvaluator(filesOf(rules));
  const asked = { subject: { type: 'identity', id: 'alice' }, action: { name: 'tools/call' } };
  const resource = { type: 'tool', id: 'files__write' };
  const kinds = contexts.map((context) => answerByPolicy(evaluator, { ...asked, resource, context }).kind);
  evaluator.release();
  return kinds;
}

/** Compares the compiled rules with the interpreter, for random rules, calls and approvals. */
export async function expectAgreement({ ruleSets: sets, callsOfEach }: { ruleSets: number; callsOfEach: number }) {
  const calls = fc.array(fc.tuple(requests, fc.subarray(['approver', 'board', 'rule 0', 'rule 1'])), {
    minLength: callsOfEach,
    maxLength: callsOfEach,
  });
  const seen = new Map<string, number>();
  const property = fc.asyncProperty(ruleSets, calls, async (rules, asked) => {
    const evaluator = await createEvaluator(filesOf(rules));
    try {
      for (const [request, approved] of asked) {
        const approval =
          approved.length === 0 ? undefined : { verified: true as const, template: approved.join(TEMPLATE_JOINT) };
        const answer = answerByPolicy(evaluator, request, approval);
        const said: Verdict =
          answer.kind === 'permit'
            ? 'permit'
            : answer.kind === 'requestable'
              ? { needs: answer.template.split(TEMPLATE_JOINT) }
              : 'deny';
        expect(answer.kind).not.toBe('failed');
        expect(said).toEqual(decide(rules, request, { world: WORLD, approved }));
        seen.set(answer.kind, (seen.get(answer.kind) ?? 0) + 1);
      }
    } finally {
      evaluator.release();
    }
  });
  await fc.assert(property, { numRuns: sets });
  return seen;
}

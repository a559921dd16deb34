import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { type Rule, ruleFile } from '../../shared/rules/rules.ts';
import { createEvaluator } from '../engine/cedar/evaluator.ts';
import { type PolicyPlaces, readPolicyTexts } from '../engine/cedar/policy-folder.ts';
import { isPossibleOnly, untestedParts } from '../rules/compile.ts';
import { quoted } from '../rules/cedar-text.ts';
import type { Outcome } from './outcome.ts';

/** A rule that matches a call only possibly, and what of it cannot be tested. */
export interface UntestedRule {
  readonly rule: string;
  readonly verb: Rule['verb'];
  readonly parts: readonly string[];
}

/** The rules of which something cannot be tested for a request. The policy engine evaluates each part of each rule. */
export async function untestedRules(request: EvaluationRequest, places: PolicyPlaces): Promise<UntestedRule[]> {
  const { rules } = places;
  if (rules === undefined) return [];
  const probes = rules.all.flatMap((rule, index) => [
    { index, part: undefined, test: isPossibleOnly(rule.match, rules.prefixes) },
    ...untestedParts(rule.match, rules.prefixes).map(({ part, isUntested }) => ({ index, part, test: isUntested })),
  ]);
  const policies = probes.map(({ index, test }, number) => ({
    file: ruleFile(index),
    text: `@id(${quoted(`probe ${number}`)})\npermit (principal, action == Action::"tools/call", resource) when { ${test} };`,
  }));
  if (policies.length === 0) return [];
  const { files } = await readPolicyTexts(places);
  const evaluator = await createEvaluator({ schema: files.schema, entities: '[]', policies });
  try {
    const prepared = evaluator.prepare(request);
    const answer = prepared.kind === 'ready' ? evaluator.evaluate(prepared) : undefined;
    const hit = new Set(answer?.kind === 'allow' ? answer.policies : []);
    const met = probes.filter((_probe, number) => hit.has(`probe ${number}`));
    return rules.all.flatMap(({ name, verb }, index) => {
      const own = met.filter((probe) => probe.index === index);
      if (!own.some(({ part }) => part === undefined)) return [];
      return [{ rule: name, verb, parts: [...new Set(own.flatMap(({ part }) => part ?? []))] }];
    });
  } finally {
    evaluator.release();
  }
}

/** The `approve` rules that do not ask about a request, because an `allow` rule stands in their place. */
export async function rulesThatMadeWay(
  outcomeBy: (places: PolicyPlaces) => Promise<Outcome>,
  places: PolicyPlaces,
): Promise<string[]> {
  const { rules } = places;
  if (rules === undefined || !rules.all.some(({ insteadOf }) => insteadOf !== undefined)) return [];
  const all = rules.all.map((rule) => ({ ...rule, insteadOf: undefined }));
  const [present, without] = [await outcomeBy(places), await outcomeBy({ ...places, rules: { ...rules, all } })];
  const asking = (outcome: Outcome) =>
    outcome.policies.filter(({ template }) => template !== undefined).map(({ id }) => id);
  return asking(without).filter((id) => !asking(present).includes(id));
}

import { validate } from '@cedar-policy/cedar-wasm/nodejs';
import type { Policies } from './policies.ts';
import { cedarProblems, InvalidPolicies, type Problem } from './problems.ts';
import { SCHEMA_FILE } from './schema.ts';
import type { Steps } from './steps.ts';

const VALIDATED_PER_STEP = 250;

/** Holds policies against the schema. Answers Cedar's warnings; throws `InvalidPolicies` with all of its errors. */
export function* validatePolicies(policies: Policies, schema: string): Steps<Problem[]> {
  const all = [...policies.values()];
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  for (let first = 0; first < all.length; first += VALIDATED_PER_STEP) {
    const some = all.slice(first, first + VALIDATED_PER_STEP);
    const staticPolicies = Object.fromEntries(some.map(({ id, text }) => [id, text]));
    const answer = validate({ schema, policies: { staticPolicies }, validationSettings: { mode: 'strict' } });
    if (answer.type === 'failure')
      throw new InvalidPolicies(cedarProblems(answer.errors, { file: SCHEMA_FILE, text: schema }));
    const located = (found: typeof answer.validationErrors) =>
      found.flatMap(({ policyId, error }) => {
        const policy = policies.get(policyId);
        return policy ? cedarProblems([error], { file: policy.file, text: policy.text, start: policy }) : [];
      });
    problems.push(...located(answer.validationErrors));
    warnings.push(...located(answer.validationWarnings));
    yield;
  }
  if (problems.length > 0) throw new InvalidPolicies(problems);
  return warnings;
}

import { setImmediate } from 'node:timers/promises';
import { validate, type Schema, type ValidationAnswer } from '@cedar-policy/cedar-wasm/nodejs';
import { groupBy, portions } from './lists.ts';
import type { Policies, Policy } from './policies.ts';
import { cedarProblems, InvalidPolicies, type PolicyProblem } from './problems.ts';
import { SCHEMA_FILE, type ActionSchema, type SchemaShape } from './schema.ts';

/** With few actions a policy takes a fraction of a millisecond, with a thousand several. */
const PER_STEP = { few: 50, all: 10 } as const;

interface ValidatedBy {
  readonly text: string;
  readonly actions: SchemaShape['actions'];
  readonly schemaOf: ActionSchema;
}

/**
 * Validates policies against the schema. Returns Cedar's warnings, and throws `InvalidPolicies` with all of its errors.
 *
 * Cedar checks a policy once for each action of the schema. Actions outside of a policy's scope find nothing in it. So policies
 * are first validated against the actions of their scope. Only those with findings are validated against the whole schema.
 */
export async function validatePolicies(policies: Policies, by: ValidatedBy): Promise<PolicyProblem[]> {
  const suspects = await suspectsAmong([...policies.values()], by);
  const problems: PolicyProblem[] = [];
  const warnings: PolicyProblem[] = [];
  for (const some of portions(suspects, PER_STEP.all)) {
    const answer = ask(by.text, some);
    if (answer.type === 'failure')
      throw new InvalidPolicies(cedarProblems(answer.errors, { file: SCHEMA_FILE, text: by.text }));
    const located = (found: typeof answer.validationErrors) =>
      found.flatMap(({ policyId, error }) => {
        const policy = policies.get(policyId);
        return policy ? cedarProblems([error], { file: policy.file, text: policy.text, start: policy }) : [];
      });
    problems.push(...located(answer.validationErrors));
    warnings.push(...located(answer.validationWarnings));
    await setImmediate();
  }
  if (problems.length > 0) throw new InvalidPolicies(problems);
  return warnings;
}

/** The policies that are for every action, and those that may have errors or warnings, in their order. */
async function suspectsAmong(all: readonly Policy[], { actions, schemaOf }: ValidatedBy): Promise<Policy[]> {
  // For an action or a group: the actions in it, each with all of its groups.
  const members = groupBy(actions.values(), ({ groups }) => groups);
  const related = (name: string) => (members.get(name) ?? []).flatMap(({ groups }) => [...groups]);
  const firstAction = ({ actions: [name = ''] = [] }: Policy) => name;
  // Neighbours have actions in common.
  const scoped = all.filter((policy) => policy.actions).sort((a, b) => (firstAction(a) < firstAction(b) ? -1 : 1));
  const valid = new Set<Policy>();
  for (const some of portions(scoped, PER_STEP.few)) {
    const names = new Set(some.flatMap((policy) => (policy.actions ?? []).flatMap(related)));
    const answer = ask(schemaOf(names), some);
    const isValid =
      answer.type === 'success' && answer.validationErrors.length + answer.validationWarnings.length === 0;
    if (isValid) for (const policy of some) valid.add(policy);
    await setImmediate();
  }
  return all.filter((policy) => !valid.has(policy));
}

function ask(schema: Schema, policies: readonly Policy[]): ValidationAnswer {
  const staticPolicies = Object.fromEntries(policies.map(({ id, text }) => [id, text]));
  return validate({ schema, policies: { staticPolicies }, validationSettings: { mode: 'strict' } });
}

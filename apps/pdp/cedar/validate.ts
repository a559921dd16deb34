import { validate, type Schema, type ValidationAnswer } from '@cedar-policy/cedar-wasm/nodejs';
import type { ActionSchema } from './action-schema.ts';
import type { Policies, Policy } from './policies.ts';
import { cedarProblems, InvalidPolicies, type Problem } from './problems.ts';
import { SCHEMA_FILE, type SchemaShape } from './schema.ts';
import type { Steps } from './steps.ts';

/** With few actions a policy takes a fraction of a millisecond, with a thousand several. */
const PER_STEP = { few: 50, all: 10 } as const;

export interface ValidatedBy {
  readonly text: string;
  readonly actions: SchemaShape['actions'];
  readonly schemaOf: ActionSchema;
}

/**
 * Holds policies against the schema. Answers Cedar's warnings; throws `InvalidPolicies` with all of its errors.
 *
 * Cedar types a policy once for each action of the schema it is given. Those which a policy's scope leaves out can find nothing in
 * it, so policies are first held against the actions of their scope; of whichever there is something to say, the whole schema says it.
 */
export function* validatePolicies(policies: Policies, by: ValidatedBy): Steps<Problem[]> {
  const odd = yield* notPlain([...policies.values()], by);
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  for (const some of portions(odd, PER_STEP.all)) {
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
    yield;
  }
  if (problems.length > 0) throw new InvalidPolicies(problems);
  return warnings;
}

/** The policies that are for every action, and those of which there may be something to say, in their order. */
function* notPlain(all: readonly Policy[], { actions, schemaOf }: ValidatedBy): Steps<Policy[]> {
  const related = relatedTo(actions);
  const firstAction = ({ actions: [name = ''] = [] }: Policy) => name;
  // Neighbours have actions in common.
  const scoped = all.filter((policy) => policy.actions).sort((a, b) => (firstAction(a) < firstAction(b) ? -1 : 1));
  const plain = new Set<Policy>();
  for (const some of portions(scoped, PER_STEP.few)) {
    const names = new Set(some.flatMap((policy) => (policy.actions ?? []).flatMap((name) => related.get(name) ?? [])));
    const answer = ask(schemaOf(names), some);
    if (isSilent(answer)) for (const policy of some) plain.add(policy);
    yield;
  }
  return all.filter((policy) => !plain.has(policy));
}

/** For an action or a group: the actions that are meant by it, each with all groups it is in. */
function relatedTo(actions: SchemaShape['actions']): ReadonlyMap<string, readonly string[]> {
  const related = new Map<string, string[]>();
  for (const { groups } of actions.values())
    for (const group of groups) {
      const known = related.get(group);
      if (known) known.push(...groups);
      else related.set(group, [...groups]);
    }
  return related;
}

function ask(schema: Schema, policies: readonly Policy[]): ValidationAnswer {
  const staticPolicies = Object.fromEntries(policies.map(({ id, text }) => [id, text]));
  return validate({ schema, policies: { staticPolicies }, validationSettings: { mode: 'strict' } });
}

const isSilent = (answer: ValidationAnswer) =>
  answer.type === 'success' && answer.validationErrors.length + answer.validationWarnings.length === 0;

function* portions<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let first = 0; first < items.length; first += size) yield items.slice(first, first + size);
}

import {
  policySetTextToParts,
  policyToJson,
  type DetailedError,
  type PolicyJson,
} from '@cedar-policy/cedar-wasm/nodejs';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { PolicyFiles } from './policy-files.ts';

/** One Cedar policy with what its annotations say to the host. */
export interface Policy {
  /** `@id`: names the policy in logs, tokens and records. */
  readonly id: string;
  readonly effect: 'permit' | 'forbid';
  readonly text: string;
  /** Actions and action groups its scope names; undefined when it is for every action. */
  readonly actions: readonly string[] | undefined;
  /** `@requestable`: template of the access request that may cure a denial this policy has a part in. */
  readonly template: string | undefined;
  /** `@reason`: stable, machine-readable. */
  readonly reason: string | undefined;
  /** `@title` and `@description`: text for approvers. */
  readonly title: string | undefined;
  readonly description: string | undefined;
}

/** Policies by id, in the order of their ids: answers do not depend on the order of files. */
export type Policies = ReadonlyMap<string, Policy>;

/** Reads every policy of a folder. Throws `ERR_CONFIG_INVALID` naming file and line. */
export function readPolicies(files: PolicyFiles['policies']): Policies {
  const all = files.flatMap(({ file, text }) => readFile(file, text));
  all.sort((a, b) => (a.id < b.id ? -1 : 1));
  const byId = new Map<string, Policy>();
  for (const policy of all) {
    if (byId.has(policy.id)) throw invalid(`two policies have @id("${policy.id}"). Give each its own.`);
    byId.set(policy.id, policy);
  }
  return byId;
}

function readFile(file: string, text: string): Policy[] {
  const parts = policySetTextToParts(text);
  if (parts.type === 'failure') throw invalid(`${file}: ${describeErrors(parts.errors, text)}`);
  if (parts.policy_templates.length > 0)
    throw invalid(`${file} has a policy with a slot (?principal or ?resource). Name the entity.`);
  return parts.policies.map((policy) => readPolicy(file, policy));
}

function readPolicy(file: string, text: string): Policy {
  const parsed = policyToJson(text);
  if (parsed.type === 'failure') throw invalid(`${file}: ${describeErrors(parsed.errors, text)}`);
  const { annotations = {}, effect, action } = parsed.json;
  const { id } = annotations;
  if (!id) throw invalid(`${file} has a policy without @id("…"). Add one; it names the policy in logs and records.`);
  for (const name of ['requestable', 'reason'] as const) {
    // Cedar reads `@requestable` without a value as null.
    if (name in annotations && !annotations[name])
      throw invalid(`${file}: @${name} of "${id}" has no value. Write @${name}("…").`);
  }
  return {
    id,
    effect,
    text,
    actions: actionNames(action),
    template: annotations['requestable'],
    reason: annotations['reason'],
    title: annotations['title'],
    description: annotations['description'],
  };
}

function actionNames(scope: PolicyJson['action']): readonly string[] | undefined {
  if (scope.op === 'All') return undefined;
  if ('entities' in scope) return scope.entities.map(uidName);
  if ('entity' in scope) return [uidName(scope.entity)];
  return undefined;
}

const uidName = (uid: { id: string } | { __entity: { id: string } }) => ('__entity' in uid ? uid.__entity.id : uid.id);

/** Cedar's errors as one line of text, with the line of the source where they point to one. */
export function describeErrors(errors: readonly DetailedError[], source: string): string {
  return errors
    .map((error) => `${atLine(error, source)}${error.message}${error.help ? ` (${error.help})` : ''}`)
    .join('; ');
}

function atLine(error: DetailedError, source: string): string {
  const start = error.sourceLocations?.[0]?.start;
  return start === undefined ? '' : `line ${Buffer.from(source).subarray(0, start).toString().split('\n').length}: `;
}

function invalid(message: string): CountersignError {
  return new CountersignError('ERR_CONFIG_INVALID', `Policies: ${message}`);
}

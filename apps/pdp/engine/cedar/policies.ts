import { setImmediate } from 'node:timers/promises';
import {
  policySetTextToParts,
  policyToJson,
  type EntityUidJson,
  type PolicyJson,
  type TypeAndId,
} from '@cedar-policy/cedar-wasm/nodejs';
import type { GrantBounds } from '../../../../workflows/domain/access-request/access-request.ts';
import { GRANTABLE_RULE, grantBoundsOf } from '../../../shared/rules/grantable.ts';
import { approvalProblem, approvalWarning, namedIn } from './conditions.ts';
import { portions } from './lists.ts';
import type { PolicyFiles } from './policy-folder.ts';
import { cedarProblems, endOf, InvalidPolicies, within, type Place, type PolicyProblem } from './problems.ts';

/** One Cedar policy, with what its annotations tell the host. */
export interface Policy extends Place {
  /** `@id`: names the policy in logs, tokens and records. */
  readonly id: string;
  readonly file: string;
  readonly effect: 'permit' | 'forbid';
  readonly text: string;
  /** Actions and action groups that its scope names. Undefined if it is for every action. */
  readonly actions: readonly string[] | undefined;
  /** Entity ids that its scope demands with `==`. Undefined if it demands none. */
  readonly principal: string | undefined;
  readonly resource: string | undefined;
  /** Entities that its conditions name and look into. */
  readonly named: readonly TypeAndId[];
  /** `@requestable`: template of the access request that may cure a denial this policy has a part in. */
  readonly template: string | undefined;
  /** `@reason`: stable, machine-readable. */
  readonly reason: string | undefined;
  /** `@obligation`: ids of what an answer demands if this policy has a part in it. */
  readonly obligations: readonly string[];
  /** `@grantable`: the greatest grant that an approver may give on a request this policy asks for. Undefined: none. */
  readonly grantable: GrantBounds | undefined;
  /** `@title` and `@description`: text for approvers. */
  readonly title: string | undefined;
  readonly description: string | undefined;
  /** `@effect_unknown`: the description where nothing says what the tool does. */
  readonly ifEffectUnknown: string | undefined;
}

/** Policies by id, in the order of their ids, so that answers do not depend on the order of files. */
export type Policies = ReadonlyMap<string, Policy>;

/** The annotations that the host reads. Any other has no effect, and is usually a mistake. */
export const ANNOTATIONS: ReadonlySet<string> = new Set([
  'id',
  'requestable',
  'reason',
  'title',
  'description',
  'effect_unknown',
  'obligation',
  'grantable',
]);

/** So many that a step is over in a few milliseconds. */
const READ_PER_STEP = 50;

/** Reads every policy of a folder, with warnings about likely mistakes. Throws `InvalidPolicies` with every error. */
export async function readPolicies(
  files: PolicyFiles['policies'],
): Promise<{ policies: Policies; warnings: readonly PolicyProblem[] }> {
  const problems: PolicyProblem[] = [];
  const warnings: PolicyProblem[] = [];
  const all: Policy[] = [];
  for (const file of files) {
    for (const some of portions(piecesOf(file, problems), READ_PER_STEP)) {
      await setImmediate();
      all.push(...some.flatMap((piece) => readPolicy(piece, { problems, warnings }) ?? []));
    }
  }
  all.sort((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
  const byId = new Map<string, Policy>();
  for (const policy of all) {
    const { id, file, line, column } = policy;
    const other = byId.get(id);
    if (other) {
      const message = `two policies have @id("${id}"), the other in ${other.file}:${other.line}. Give each its own.`;
      problems.push({ file, line, column, message });
    }
    byId.set(id, policy);
  }
  if (problems.length > 0) throw new InvalidPolicies(problems);
  return { policies: byId, warnings };
}

/** The text of one policy, and where it begins. */
interface Piece extends Place {
  readonly file: string;
  readonly text: string;
}

function piecesOf({ file, text }: PolicyFiles['policies'][number], problems: PolicyProblem[]): Piece[] {
  const parts = policySetTextToParts(text);
  if (parts.type === 'failure') {
    problems.push(...cedarProblems(parts.errors, { file, text }));
    return [];
  }
  const [slot] = parts.policy_templates;
  if (slot !== undefined) {
    const message = 'a policy has a slot (?principal or ?resource). Name the entity.';
    problems.push({ file, ...endOf(text.slice(0, Math.max(0, text.indexOf(slot)))), message });
    return [];
  }
  const pieces: Piece[] = [];
  let behind: Place = { line: 1, column: 1 };
  let from = 0;
  for (const policy of inOrderOfText(parts.policies)) {
    const at = Math.max(from, text.indexOf(policy, from));
    const start = within(behind, endOf(text.slice(from, at)));
    pieces.push({ file, text: policy, ...start });
    behind = within(start, endOf(policy));
    from = at + policy.length;
  }
  return pieces;
}

/** Cedar names the policies of a text `policy0`, `policy1`, … and answers them in the order of these names. */
function inOrderOfText(policies: readonly string[]): string[] {
  const names = policies.map((_, index) => `policy${index}`).sort();
  const numbered = policies.map((text, index) => [Number(names[index]?.slice('policy'.length)), text] as const);
  return numbered.sort(([a], [b]) => a - b).map(([, text]) => text);
}

function readPolicy(
  piece: Piece,
  { problems, warnings }: Record<'problems' | 'warnings', PolicyProblem[]>,
): Policy | undefined {
  const { file, line, column, text } = piece;
  const parsed = policyToJson(text);
  if (parsed.type === 'failure') {
    problems.push(...cedarProblems(parsed.errors, { file, text, start: piece }));
    return undefined;
  }
  const { annotations = {}, effect, action, principal, resource } = parsed.json;
  const { id } = annotations;
  const found = (message: string): PolicyProblem => ({ file, line, column, message });
  if (!id) {
    problems.push(found('a policy without @id("…"). Add one; it names the policy in logs and records.'));
    return undefined;
  }
  for (const name of ['requestable', 'reason', 'obligation', 'grantable'] as const) {
    // Cedar reads `@requestable` without a value as null.
    if (name in annotations && !annotations[name])
      problems.push(found(`@${name} of "${id}" has no value. Write @${name}("…").`));
  }
  const unknown = Object.keys(annotations).find((name) => !ANNOTATIONS.has(name));
  if (unknown !== undefined)
    warnings.push(found(`@${unknown} of "${id}" has no effect. Known are @${[...ANNOTATIONS].join(', @')}.`));
  const template = annotations['requestable'];
  const bounds = grantableOf(annotations, { problems, warnings, found });
  if (template) {
    const requestable = { id, template, effect, conditions: parsed.json.conditions };
    problems.push(...[approvalProblem(requestable) ?? []].flat().map(found));
    warnings.push(...[approvalWarning(requestable) ?? []].flat().map(found));
  }
  return {
    ...piece,
    id,
    effect,
    actions: actionNames(action),
    principal: demanded(principal),
    resource: demanded(resource),
    named: namedIn(parsed.json.conditions),
    template,
    reason: annotations['reason'],
    obligations: annotations['obligation']?.split(/[\s,]+/).filter((one) => one !== '') ?? [],
    grantable: bounds,
    title: annotations['title'],
    description: annotations['description'],
    ifEffectUnknown: annotations['effect_unknown'],
  };
}

/** The bounds of `@grantable`, if it is there and readable. */
function grantableOf(
  { id, requestable, grantable: text }: Readonly<Record<string, string | null | undefined>>,
  {
    problems,
    warnings,
    found,
  }: Record<'problems' | 'warnings', PolicyProblem[]> & { found: (message: string) => PolicyProblem },
): GrantBounds | undefined {
  if (!text) return undefined;
  const bounds = grantBoundsOf(text);
  if (bounds === undefined) problems.push(found(`@grantable of "${id}" has no meaning. ${GRANTABLE_RULE}`));
  else if (!requestable)
    warnings.push(found(`@grantable of "${id}" has no effect without @requestable, since no request is asked for.`));
  return bounds;
}

function actionNames(scope: PolicyJson['action']): readonly string[] | undefined {
  if (scope.op === 'All') return undefined;
  if ('entities' in scope) return scope.entities.map((uid) => parts(uid).id);
  if ('entity' in scope) return [parts(scope.entity).id];
  return undefined;
}

/** The id that a scope demands of its entity. Requests always have a `Subject` and a `Resource`. */
function demanded(scope: PolicyJson['principal'] | PolicyJson['resource']): string | undefined {
  if (scope.op !== '==' || !('entity' in scope)) return undefined;
  const { type, id } = parts(scope.entity);
  return type === 'Subject' || type === 'Resource' ? id : undefined;
}

const parts = (uid: EntityUidJson) => ('__entity' in uid ? uid.__entity : uid);

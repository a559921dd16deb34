import { policyToJson, type PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { Resource } from '../../../workflows/domain/authzen/evaluation.ts';
import { isObject } from '../../../workflows/domain/canonical-json.ts';
import { ruleIndex } from '../../shared/rules/rules.ts';
import { ANOTHER, couldApply, couldNotApply, type KnownOfRequest } from '../engine/cedar/conditions.ts';
import { entityId, parseEntityId } from '../engine/cedar/entities.ts';
import type { Evaluator } from '../engine/cedar/evaluator.ts';
import type { Policy } from '../engine/cedar/policies.ts';
import type { PolicyPlaces } from '../engine/cedar/policy-folder.ts';
import { loadCurrent } from '../engine/cedar/version.ts';

/** The action and the type of resource of a call of a tool without a mapping of its own. */
const CALL = 'tools/call';
const TOOL = 'tool';

export type ToolSurvey = Awaited<ReturnType<typeof surveyTools>>;

/**
 * Compares tools with the policies of a folder, for any caller and with any approval. `forgotten` are the tools that no policy
 * could ever permit, and that no policy names and no rule refuses. `named` are all tools that a policy names, with one such policy. `idle` are the
 * rules that could not match any tool. Throws `ERR_CONFIG_INVALID` if the policies cannot be used.
 */
export async function surveyTools(places: PolicyPlaces, tools: readonly string[]) {
  const { evaluator } = await loadCurrent(places);
  const policies = evaluator.policiesFor({ name: CALL });
  const named = namedBy(policies);
  const isKnown = (tool: string) =>
    named.has(tool) ||
    permitsFor(evaluator, CALL, { type: TOOL, id: tool }).length > 0 ||
    policies.some((policy) => refusesAmongOthers(policy, tool));
  const forgotten = tools.filter((tool) => !isKnown(tool));
  const idle = policies
    .filter(({ effect, template }) => effect === 'forbid' || template === undefined)
    .filter((policy) => isRule(policy) && !tools.some((tool) => isFor(policy, { type: TOOL, id: tool })));
  evaluator.release();
  return {
    forgotten,
    idle: [...new Map(idle.map((policy) => [policy.file, policy])).values()],
    named: [...named].map(([tool, policy]) => ({ tool, policy })),
  };
}

const isRule = ({ file }: Policy): boolean => ruleIndex(file) !== undefined;

/** Whether a `deny` rule has a pattern that fits this tool, and not every tool. So its author knew of the tool. */
const refusesAmongOthers = (policy: Policy, tool: string): boolean =>
  isRule(policy) &&
  policy.effect === 'forbid' &&
  policy.template === undefined &&
  isFor(policy, { type: TOOL, id: tool }) &&
  !isFor(policy, { type: TOOL, id: '' });

/** The policies that would permit such a request in some case: for some caller, with some context, with some approval. */
export const permitsFor = (
  evaluator: Evaluator,
  action: string,
  resource: Pick<Resource, 'type' | 'id'>,
): readonly Policy[] =>
  evaluator.policiesFor({ name: action }).filter((policy) => policy.effect === 'permit' && isFor(policy, resource));

/** Whether a policy could apply to a request about this resource. */
function isFor(policy: Policy, resource: Pick<Resource, 'type' | 'id'>): boolean {
  if (policy.resource !== undefined && policy.resource !== entityId(resource)) return false;
  return couldApply(parsed(policy)?.conditions ?? [], { approval: 'any', resource });
}

/** The tools that policies tell from others by name. A name beside another type of resource is not the name of a tool. */
function namedBy(policies: readonly Policy[]): ReadonlyMap<string, Policy> {
  const named = new Map<string, Policy>();
  for (const policy of policies) {
    const { conditions = [] } = parsed(policy) ?? {};
    const scope = policy.resource === undefined ? [] : toolsOf([policy.resource]);
    const ids = comparedWith(conditions, isId, textOf).filter((id) => tellsByName(policy, id));
    const tools = toolsOf(comparedWith(conditions, isResource, entityOf));
    for (const tool of [...scope, ...ids, ...tools]) if (!named.has(tool)) named.set(tool, policy);
  }
  return named;
}

const toolsOf = (entities: readonly string[]): string[] =>
  entities.map(parseEntityId).flatMap((entity) => (entity?.type === TOOL ? [entity.id] : []));

/** Whether the policy can decide a call of this tool differently from a call of a tool that it does not name. */
function tellsByName({ resource, text }: Policy, tool: string): boolean {
  if (resource !== undefined) return resource === entityId({ type: TOOL, id: tool });
  const conditions = parsed({ text })?.conditions ?? [];
  const of = (id: string | symbol): KnownOfRequest => ({ approval: 'any', resource: { type: TOOL, id } });
  const said = (id: string | symbol) => [couldApply(conditions, of(id)), couldNotApply(conditions, of(id))].join();
  return said(tool) !== said(ANOTHER);
}

function parsed({ text }: Pick<Policy, 'text'>): PolicyJson | undefined {
  const answer = policyToJson(text);
  return answer.type === 'failure' ? undefined : answer.json;
}

const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', 'in', 'contains']);

/** Every constant that conditions compare such an expression with. */
function comparedWith(
  expression: unknown,
  isMeant: (expression: unknown) => boolean,
  read: (value: unknown) => string | undefined,
): string[] {
  if (Array.isArray(expression)) return expression.flatMap((part) => comparedWith(part, isMeant, read));
  if (!isObject(expression)) return [];
  return Object.entries(expression).flatMap(([operator, operands]) => {
    const { left, right } = isObject(operands) && COMPARISONS.has(operator) ? operands : {};
    const others = [...(isMeant(left) ? constantsOf(right) : []), ...(isMeant(right) ? constantsOf(left) : [])];
    return [...others.flatMap((value) => read(value) ?? []), ...comparedWith(operands, isMeant, read)];
  });
}

/** The constant that an expression is, or the constants in its set. */
function constantsOf(expression: unknown): unknown[] {
  if (!isObject(expression)) return [];
  const { Set: items, Value: value } = expression;
  return Array.isArray(items) ? items.flatMap(constantsOf) : [value];
}

const isResource = (expression: unknown) => isObject(expression) && expression['Var'] === 'resource';
const isId = (expression: unknown) => {
  const attribute = isObject(expression) ? expression['.'] : undefined;
  return isObject(attribute) && attribute['attr'] === 'id' && isResource(attribute['left']);
};
const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);
const entityOf = (value: unknown) =>
  isObject(value) && isObject(value['__entity']) ? textOf(value['__entity']['id']) : undefined;

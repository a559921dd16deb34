import type { CedarValueJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { EvaluationRequest } from '../../../../workflows/domain/authzen/evaluation.ts';
import { type Json, type JsonObject, objectOf, ownProperty } from '../../../../workflows/domain/canonical-json.ts';
import { TEMPLATE_JOINT } from '../../../shared/rules/rules.ts';
import { climbs, decimalOf, hasLoneSurrogate, memberAt } from '../../../shared/rules/values.ts';

/**
 * Members of the context that the host fills in where the schema declares them. Rules are compiled to policies that read them, and
 * hand-written policies may. Nothing that a caller sends under these names gets there, except the facts that an enforcement point says of
 * a call.
 */
export const HOST_MEMBERS = {
  /** Of a tool call: its server, tool and effect, and the roles of its caller. */
  call: 'call',
  /** Arguments by their path, each by its type. */
  values: 'values',
  /** Names of the templates that the presented approval covers. */
  approved: 'approved',
} as const;

/**
 * The facts about a call, which the enforcement point says as `context.call`. If it says none, only the tool is known, which is the
 * resource of the request.
 */
export function callOf({ resource, context }: Pick<EvaluationRequest, 'resource' | 'context'>): JsonObject {
  const { tool, server, effect, roles } = objectOf(ownProperty(context, 'call'));
  return {
    tool: typeof tool === 'string' ? tool : resource.id,
    ...(typeof server === 'string' && { server }),
    ...(typeof effect === 'string' && { effect }),
    roles: Array.isArray(roles) ? roles.filter((role) => typeof role === 'string') : [],
  };
}

/**
 * Arguments by their type: `text`, `lower` or `truth`, or no such member for a list or an object. So a policy can be about an argument that
 * is a text of one tool and a number of another. An argument that is missing or `null` is left out.
 *
 * @param keys Paths of the arguments: names of members with a dot between them.
 */
export function valuesOf(
  { context }: Pick<EvaluationRequest, 'context'>,
  keys: readonly string[],
): Record<string, CedarValueJson> {
  const given = ownProperty(context, 'arguments') ?? null;
  return Object.fromEntries(
    keys.flatMap((key) => {
      const value = memberAt(given, key.split('.'));
      return value === null ? [] : [[key, typed(value)] as const];
    }),
  );
}

function typed(value: Exclude<Json, null>): CedarValueJson {
  const untested = { climbs: false, exact: false };
  if (typeof value === 'boolean') return { ...untested, truth: value };
  if (typeof value === 'string')
    return hasLoneSurrogate(value) ? untested : { ...untested, text: value, climbs: climbs(value) };
  if (typeof value !== 'number') return untested;
  const { lower, isExact } = decimalOf(value);
  return { ...untested, lower: { __extn: { fn: 'decimal', arg: lower } }, exact: isExact };
}

/** The templates that an approval covers. */
export const approvedBy = (template: string | undefined): string[] =>
  template === undefined ? [] : template.split(TEMPLATE_JOINT);

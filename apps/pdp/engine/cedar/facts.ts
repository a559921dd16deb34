import type { CedarValueJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { EvaluationRequest } from '../../../../workflows/domain/authzen/evaluation.ts';
import { type Json, type JsonObject, objectOf, ownProperty } from '../../../../workflows/domain/canonical-json.ts';
import { addressForm } from '../../../../workflows/domain/spellings/address.ts';
import { withoutCase } from '../../../../workflows/domain/spellings/letters.ts';
import { pathForm } from '../../../../workflows/domain/spellings/path.ts';
import { isPlain } from '../../../../workflows/domain/spellings/plain.ts';
import { TEMPLATE_JOINT } from '../../../shared/rules/rules.ts';
import { decimalOf, hasLoneSurrogate, memberAt } from '../../../shared/rules/values.ts';
import { localTime } from '../../../shared/rules/local-time.ts';
import { readUrl } from '../../../shared/rules/url-reader.ts';

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
  /** Day, minute and date in each declared time zone, if it is declared as a record. */
  time: 'time',
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

/** The members of an argument that policies look at, by the path of the argument: names of members with a dot between them. */
export type DeclaredValues = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Arguments by their type: `text`, `lower` or `truth`, or no such member for a list or an object. So a policy can be about an argument that
 * is a text of one tool and a number of another. A text also has the forms that it has as a path (`path`, `name`) and as an address
 * (`url`), as far as programs agree on them. An argument that is missing or `null` is left out.
 */
export function valuesOf(
  { context }: Pick<EvaluationRequest, 'context'>,
  declared: DeclaredValues,
): Record<string, CedarValueJson> {
  const given = ownProperty(context, 'arguments') ?? null;
  return Object.fromEntries(
    [...declared].flatMap(([key, members]) => {
      const value = memberAt(given, key.split('.'));
      return value === null ? [] : [[key, typed(value, members)] as const];
    }),
  );
}

function typed(value: Exclude<Json, null>, members: ReadonlySet<string>): CedarValueJson {
  const all = { ...UNTESTED, ...factsOf(value) };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, fact]) => {
      const known = members.has(name) ? fact() : undefined;
      return known === undefined ? [] : [[name, known] as const];
    }),
  );
}

/** Members by name. Only those that are declared are worked out. */
type Facts = Readonly<Record<string, () => CedarValueJson | undefined>>;

const UNTESTED: Facts = { plain: () => false, exact: () => false };

function factsOf(value: Exclude<Json, null>): Facts {
  if (typeof value === 'boolean') return { truth: () => value };
  if (typeof value === 'number') {
    const { lower, isExact } = decimalOf(value);
    return { lower: () => ({ __extn: { fn: 'decimal', arg: lower } }), exact: () => isExact };
  }
  if (typeof value !== 'string' || hasLoneSurrogate(value)) return {};
  return {
    text: () => value,
    folded: () => withoutCase(value),
    plain: () => isPlain(value, readUrl),
    path: () => {
      const { whole } = pathForm(value);
      return whole && { kind: whole.kind, ...lettered(whole.text), portable: whole.isPortable };
    },
    name: () => {
      const { name } = pathForm(value);
      return name === undefined ? undefined : lettered(name);
    },
    url: () => {
      const form = addressForm(value, readUrl);
      if (form === undefined) return undefined;
      const { path, ...others } = form;
      return { ...others, ...(path !== undefined && { path: lettered(path) }) };
    },
  };
}

/** A text, and the same without the case of its letters. */
const lettered = (text: string) => ({ text, folded: withoutCase(text) });

/**
 * The time in each declared time zone. It changes once a minute, so that answers to the same request can be kept for so long.
 *
 * @param at In milliseconds since 1970.
 */
export const timeOf = (at: number, zones: DeclaredValues): Record<string, CedarValueJson> =>
  Object.fromEntries(
    [...zones].map(([zone, members]) => [
      zone,
      Object.fromEntries(Object.entries(localTime(at, zone)).filter(([name]) => members.has(name))) as CedarValueJson,
    ]),
  );

/** The templates that an approval covers. */
export const approvedBy = (template: string | undefined): string[] =>
  template === undefined ? [] : template.split(TEMPLATE_JOINT);

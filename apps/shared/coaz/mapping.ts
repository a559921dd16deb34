import { canonicalJson, isObject, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { compileExpression, type Expression } from './expression.ts';
import { MappingError, shown } from './json-of.ts';

/** The compiled parts of one evaluation request, as far as the mapping declares them. */
export type Parts = Readonly<Partial<Record<(typeof PARTS)[number], Template>>>;

/** A mapping of valid form. @see COAZ, The Mapping */
export interface Mapping {
  /** Parts that apply to every evaluation without its own. */
  readonly shared: Parts;
  /** One for each decision. Only `shared` can have a subject, unless the mapping has a single evaluation. */
  readonly evaluations: readonly Parts[];
}

/** A part of a mapping, ready to be resolved: leaves are literals or expressions. @see COAZ, literals and expressions */
export type Template =
  | { readonly kind: 'literal'; readonly value: Json }
  | { readonly kind: 'expression'; readonly expression: Expression; readonly at: string }
  | { readonly kind: 'list'; readonly items: readonly Template[] }
  | { readonly kind: 'map'; readonly members: readonly (readonly [name: string, template: Template])[] };

/** Every expression in a part, with its place in the mapping. */
export function expressionsIn(template: Template): readonly Extract<Template, { kind: 'expression' }>[] {
  if (template.kind === 'expression') return [template];
  if (template.kind === 'list') return template.items.flatMap(expressionsIn);
  if (template.kind === 'map') return template.members.flatMap(([, member]) => expressionsIn(member));
  return [];
}

export const expressionsOf = ({ shared, evaluations }: Mapping) =>
  [shared, ...evaluations].flatMap((parts) => Object.values(parts).flatMap(expressionsIn));

const PARTS = ['subject', 'action', 'resource', 'context'] as const;
/** The members that an entity may have. Anything else about it goes below `properties` (COAZ-FW-03). */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  subject: ['type', 'id', 'properties'],
  action: ['name', 'properties'],
  resource: ['type', 'id', 'properties'],
};
const MAX_LENGTH = 32 * 1024;
const MAX_EVALUATIONS = 32;
const MAX_DEPTH = 16;

/**
 * Compiles a mapping. Throws a `MappingError` for a fault in its form, in an expression or in a name, before there is a message.
 * @see COAZ, Mapping Integrity (COAZ-FW-24, COAZ-DC-06)
 */
export function compileMapping(content: Json): Mapping {
  const mapping = objectAt(content, 'the mapping');
  if (lengthOf(mapping) > MAX_LENGTH) throw new MappingError(`the mapping is longer than ${MAX_LENGTH} characters`);
  const [envelope, ...others] = Object.keys(mapping);
  if (others.length > 0 || (envelope !== 'evaluation' && envelope !== 'evaluations')) {
    throw new MappingError('the mapping does not have exactly one member, evaluation or evaluations');
  }
  const body = objectAt(mapping[envelope], envelope);
  if (envelope === 'evaluation') {
    onlyMembers(body, envelope, PARTS);
    return { shared: {}, evaluations: [partsOf(body, envelope)] };
  }
  // `options` has no effect: all evaluations have to be allowed.
  onlyMembers(body, envelope, [...PARTS, 'evaluations', 'options']);
  return { shared: partsOf(body, envelope), evaluations: evaluationsOf(body['evaluations']) };
}

/** Only literal entries count: a list that an expression returns makes no further decisions (COAZ-FW-13). */
function evaluationsOf(evaluations: Json | undefined): readonly Parts[] {
  const list = 'evaluations.evaluations';
  if (evaluations !== undefined && !isList(evaluations)) throw new MappingError(`${list} is not a list`);
  // An empty list means one evaluation of the shared parts. @see AuthZEN Authorization API 1.0, section 7.1
  const entries = evaluations === undefined || evaluations.length === 0 ? [{}] : evaluations;
  if (entries.length > MAX_EVALUATIONS) throw new MappingError(`${list} has more than ${MAX_EVALUATIONS} entries`);
  return entries.map((entry, index) => {
    const at = `${list}[${index}]`;
    const body = objectAt(entry, at);
    if (Object.hasOwn(body, 'subject')) throw new MappingError(`${at} has a subject of its own`);
    onlyMembers(body, at, PARTS);
    return partsOf(body, at);
  });
}

function partsOf(body: JsonObject, at: string): Parts {
  const parts = PARTS.flatMap((part) => {
    const content = body[part];
    if (content === undefined) return [];
    const members = MEMBERS[part];
    if (members !== undefined && isObject(content)) onlyMembers(content, memberOf(at, part), members);
    return [[part, compileTemplate(content, memberOf(at, part))] as const];
  });
  return Object.fromEntries(parts);
}

/**
 * Compiles a part of a mapping. A text that begins with one `$` is an expression. A text that begins with two is the literal from
 * the second on (COAZ-FW-04 to 07). Throws a `MappingError`.
 *
 * @param at Its place in the mapping.
 */
function compileTemplate(content: Json, at: string, levels = MAX_DEPTH): Template {
  if (typeof content === 'string' && content.startsWith('$')) {
    if (content.startsWith('$$')) return { kind: 'literal', value: content.slice(1) };
    return { kind: 'expression', expression: compileExpression(content.slice(1), at), at };
  }
  if (content === null || typeof content !== 'object') return { kind: 'literal', value: content };
  if (levels === 0) throw new MappingError(`${at} is nested more than ${MAX_DEPTH} levels deep`);
  if (isList(content)) {
    return { kind: 'list', items: content.map((item, index) => compileTemplate(item, `${at}[${index}]`, levels - 1)) };
  }
  const members = Object.entries(content).map(
    ([name, member]) => [name, compileTemplate(member, memberOf(at, name), levels - 1)] as const,
  );
  return { kind: 'map', members };
}

function onlyMembers(object: JsonObject, at: string, names: readonly string[]): void {
  const unknown = Object.keys(object).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new MappingError(`${memberOf(at, unknown)} has no meaning; facts about an entity go below its properties`);
}

const memberOf = (at: string, name: string): string => `${at}.${shown(name).slice(0, 40)}`;

function objectAt(content: Json | undefined, at: string): JsonObject {
  if (content !== undefined && isObject(content)) return content;
  throw new MappingError(`${at} is not an object`);
}

function lengthOf(mapping: JsonObject): number {
  try {
    return canonicalJson(mapping).length;
  } catch {
    throw new MappingError('the mapping has no canonical form');
  }
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { compileExpression, type Expression } from './expression.ts';
import { MappingError, shown } from './json-of.ts';

/** A part of a mapping, ready to be resolved: leaves are literals or expressions. @see COAZ, literals and expressions */
export type Template =
  | { readonly kind: 'literal'; readonly value: Json }
  | { readonly kind: 'expression'; readonly expression: Expression; readonly at: string }
  | { readonly kind: 'list'; readonly items: readonly Template[] }
  | { readonly kind: 'map'; readonly members: readonly (readonly [name: string, template: Template])[] };

const MAX_DEPTH = 16;

/**
 * Reads a part of a mapping. A text that begins with one `$` is an expression; one that begins with two is the text from the
 * second on; everything else is what it is (COAZ-FW-04 to 07). Throws a `MappingError`.
 *
 * @param at Its place in the mapping.
 */
export function compileTemplate(content: Json, at: string): Template {
  return compileLevel(content, at, MAX_DEPTH);
}

function compileLevel(content: Json, at: string, levels: number): Template {
  if (typeof content === 'string') return compileText(content, at);
  if (content === null || typeof content !== 'object') return { kind: 'literal', value: content };
  if (levels === 0) throw new MappingError(`${at} is nested more than ${MAX_DEPTH} levels deep`);
  if (isList(content)) {
    return { kind: 'list', items: content.map((item, index) => compileLevel(item, `${at}[${index}]`, levels - 1)) };
  }
  const members = Object.entries(content).map(
    ([name, member]) => [name, compileLevel(member, memberOf(at, name), levels - 1)] as const,
  );
  return { kind: 'map', members };
}

function compileText(text: string, at: string): Template {
  if (text.startsWith('$$')) return { kind: 'literal', value: text.slice(1) };
  if (!text.startsWith('$')) return { kind: 'literal', value: text };
  return { kind: 'expression', expression: compileExpression(text.slice(1), at), at };
}

/** Every expression in a part, with its place. */
export function expressionsIn(template: Template): readonly Extract<Template, { kind: 'expression' }>[] {
  if (template.kind === 'expression') return [template];
  if (template.kind === 'list') return template.items.flatMap(expressionsIn);
  if (template.kind === 'map') return template.members.flatMap(([, member]) => expressionsIn(member));
  return [];
}

/** The place of a member. */
export const memberOf = (at: string, name: string): string => `${at}.${shown(name).slice(0, 40)}`;

const isList = (value: JsonObject | readonly Json[]): value is readonly Json[] => Array.isArray(value);

import { canonicalJson, isObject, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { addressForm } from '../../../workflows/domain/spellings/address.ts';
import { pathForm } from '../../../workflows/domain/spellings/path.ts';
import { argumentConditions } from '../../shared/config/condition-settings.ts';
import { sha256 } from '../../shared/crypto.ts';
import { beginsWith, meetsConditions } from '../../shared/rules/conditions.ts';
import { readUrl } from '../../shared/rules/url-reader.ts';
import { isComparable } from '../../shared/rules/values.ts';
import type { WrittenPlace } from '../../shared/rules/written-place.ts';

type Scalar = string | number | boolean;

/** A single value of the arguments that a grant can leave open. `path` has the names of members with a dot between them. */
export interface OpenValue {
  readonly path: string;
  readonly value: Scalar;
}

/** A condition on one argument, as an author of `rules` writes it. */
export type WrittenCondition = { readonly equal: Scalar } | { readonly like: string } | WrittenPlace;

/** Conditions on arguments by name. */
export type WrittenConditions = Readonly<Record<string, WrittenCondition>>;

/** Which arguments a grant covers. */
export interface ArgumentScope {
  /** Digest of the arguments without their single values: another argument, list or type is another shape. */
  readonly shape: string;
  readonly conditions: WrittenConditions;
}

/** More could not be read before a decision. */
export const MAX_OPEN_VALUES = 50;

/** The arguments of a call, from the stored context of its request. Undefined for a request that is about no call. */
export function argumentsIn(context: string): JsonObject | undefined {
  const given = (JSON.parse(context) as JsonObject)['arguments'];
  return isObject(given) ? given : undefined;
}

/** The values that a grant on this call can leave open, in the order of the canonical arguments. */
export function openValues(args: JsonObject): OpenValue[] {
  const found: OpenValue[] = [];
  replaced(args, [], (path, value) => found.push({ path: path.join('.'), value }));
  return found;
}

/** The shape of arguments. @see ArgumentScope */
export const shapeOf = (args: JsonObject): string => `sha-256:${sha256(canonicalJson(replaced(args, [], () => {})))}`;

/**
 * A copy with the type in place of each single value that conditions can be about. Everything else stays: lists, `null`, numbers with
 * more than four decimal places, and members whose name has a dot.
 */
function replaced(
  value: Json,
  path: readonly string[],
  onValue: (path: readonly string[], value: Scalar) => void,
): Json {
  if (isObject(value)) {
    const members = Object.keys(value).sort();
    return Object.fromEntries(
      members.map((name) => {
        const member = value[name] ?? null;
        // A schema drops a member of the last name, and a condition with it.
        const isNamed = name !== '' && !name.includes('.') && name !== '__proto__';
        return [name, isNamed ? replaced(member, [...path, name], onValue) : member];
      }),
    );
  }
  if (value === null || Array.isArray(value) || (typeof value === 'number' && !isComparable(value))) return value;
  onValue(path, value as Scalar);
  return typeof value;
}

/**
 * What the giver chose for one value. `begins` is a folder for an absolute path, a folder with its host for an address, and a beginning for
 * any other text.
 */
export type Choice = { readonly kind: 'exact' | 'any' } | { readonly kind: 'begins'; readonly text: string };

/** What a text is, as far as one can tell from it: an absolute path, an absolute address, or another text. */
export function sortOf(text: string): 'path' | 'address' | 'text' {
  if (addressForm(text, readUrl)?.host !== undefined) return 'address';
  const kind = pathForm(text).whole?.kind;
  return kind === 'unix' || kind === 'drive' ? 'path' : 'text';
}

/** The condition of all values that begin like this one, up to a whole folder or host. Undefined if there is none. */
function beginning(value: string, text: string): WrittenCondition | undefined {
  switch (sortOf(value)) {
    case 'path':
      return { path: { under: text } };
    case 'address': {
      const { scheme, host, port, path } = addressForm(text, readUrl) ?? {};
      if (scheme === undefined || host === undefined || path === undefined) return undefined;
      return {
        url: { scheme, host, ...(port !== undefined && { port }), ...(path !== '/' && { path: { under: path } }) },
      };
    }
    case 'text': {
      const like = text === '' ? undefined : beginsWith(text);
      return like === undefined ? undefined : { like };
    }
  }
}

/**
 * The scope that the choices of a giver describe, one for each value. Undefined if it would not cover the call itself, which the giver
 * has before their eyes.
 */
export function scopeOf(args: JsonObject, choices: readonly Choice[]): ArgumentScope | undefined {
  const values = openValues(args);
  if (values.length !== choices.length) return undefined;
  const conditions: [string, WrittenCondition][] = [];
  for (const [index, { path, value }] of values.entries()) {
    const choice = choices[index];
    if (choice === undefined) return undefined;
    if (choice.kind === 'exact') conditions.push([path, { equal: value }]);
    if (choice.kind === 'begins') {
      const condition = typeof value === 'string' ? beginning(value, choice.text) : undefined;
      if (condition === undefined) return undefined;
      conditions.push([path, condition]);
    }
  }
  const scope = { shape: shapeOf(args), conditions: Object.fromEntries(conditions) };
  return covers(scope, args) ? scope : undefined;
}

/** Whether arguments are in the scope of a grant. Conditions that cannot be read cover nothing. */
export function covers({ shape, conditions }: ArgumentScope, args: JsonObject): boolean {
  const where = argumentConditions.safeParse(conditions);
  const isWhole = where.success && where.data.length === Object.keys(conditions).length;
  return isWhole && shapeOf(args) === shape && meetsConditions(args, where.data);
}

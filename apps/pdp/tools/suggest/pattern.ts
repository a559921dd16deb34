import { canonicalJson, isObject, type Json, type JsonObject } from '../../../../workflows/domain/canonical-json.ts';
import { isWritable } from '../../../shared/rules/literal.ts';
import { isComparable } from '../../../shared/rules/values.ts';
import type { WrittenPlace } from '../../../shared/rules/written-place.ts';
import { commonPlace, looksLikePlace, type Place, placeOf } from './places.ts';

type Scalar = string | number | boolean;

/** The condition on one argument, as an author of `rules` writes it. */
export type WrittenCondition =
  | { readonly equal: Scalar }
  | { readonly oneOf: readonly Scalar[] }
  | WrittenPlace
  | { readonly present: false };

/** An argument with more values than this is free, or a path. */
const MOST_VALUES = 5;
/** So many paths or addresses must be in one place before a rule says that all are. */
const LEAST_PATHS = 3;

/** A value in arguments that has no members. */
interface Leaf {
  /** The names of members with a dot between them, or the list of these names if a rule cannot name one of them. */
  readonly name: string;
  readonly isNamed: boolean;
  readonly value: Json;
}

/** Every leaf of the arguments. A list is a leaf, and so is an object under a name that no rule can name. */
export function leavesOf(args: JsonObject): Leaf[] {
  const found: Leaf[] = [];
  const walk = (value: Json, path: readonly string[], isNamed: boolean): void => {
    if (isNamed && isObject(value) && Object.keys(value).length > 0) {
      for (const [name, member] of Object.entries(value)) walk(member, [...path, name], isName(name));
      return;
    }
    found.push({ name: isNamed ? path.join('.') : JSON.stringify(path), isNamed, value });
  };
  for (const [name, value] of Object.entries(args)) walk(value, [name], isName(name));
  return found;
}

// A schema drops a member of the last name, and a condition with it.
const isName = (name: string) => name !== '' && !name.includes('.') && name !== '__proto__';

/** Whether a condition can name the value. */
function isScalar(value: Json): value is Scalar {
  if (typeof value === 'number') return isComparable(value);
  return typeof value === 'boolean' || (typeof value === 'string' && (value === '' || isWritable(value)));
}

/** What several calls have in common in one argument. */
class Argument {
  count = 0;
  readonly #isNamed: boolean;
  /** The different values, but never more than one above `MOST_VALUES`. */
  readonly #values = new Map<string, Json>();
  /** Where all of its texts are. Undefined once they have no place in common. */
  #place: Place | undefined;
  #hasPlaces = false;

  constructor(isNamed: boolean) {
    this.#isNamed = isNamed;
  }

  add(value: Json): void {
    if (this.#values.size <= MOST_VALUES) this.#values.set(canonicalJson(value), value);
    const place = typeof value === 'string' ? placeOf(value) : undefined;
    this.#place = this.count === 0 ? place : commonPlace(this.#place, place);
    this.#hasPlaces ||= typeof value === 'string' && looksLikePlace(value);
    this.count += 1;
  }

  /**
   * The narrowest condition that all values meet. `free`: they have nothing in common. `unnamed`: no rule can say what they have in common.
   * `unlimited`: they are paths or addresses without a folder or a host in common.
   */
  condition(): WrittenCondition | 'free' | 'unnamed' | 'unlimited' {
    const values = [...this.#values.values()];
    const limit = values.length < LEAST_PATHS ? undefined : this.#place?.written(this.#place.parts);
    if (limit !== undefined) return this.#isNamed && isWritable(JSON.stringify(limit)) ? limit : 'unnamed';
    if (values.length > MOST_VALUES) return this.free();
    if (!this.#isNamed || !values.every(isScalar)) return 'unnamed';
    const [only, ...more] = values;
    return only !== undefined && more.length === 0 ? { equal: only } : { oneOf: values };
  }

  /** A rule may say nothing about the argument, unless its values are paths or addresses: it would allow every place. */
  free(): 'free' | 'unlimited' {
    return this.#hasPlaces ? 'unlimited' : 'free';
  }
}

/** Conditions that all calls of a set meet. `free` names the arguments that may have any value. */
export interface Conditions {
  readonly where: Readonly<Record<string, WrittenCondition>>;
  readonly free: readonly string[];
}

/** What several calls have in common in their arguments. */
export class ArgumentPattern {
  #calls = 0;
  readonly #all = new Map<string, Argument>();

  add(args: JsonObject): void {
    this.#calls += 1;
    for (const { name, isNamed, value } of leavesOf(args)) {
      const argument = this.#all.get(name) ?? new Argument(isNamed);
      argument.add(value);
      this.#all.set(name, argument);
    }
  }

  /**
   * The narrowest conditions. Answers the name of an argument instead if no rule can say what its values have in common, or if they are
   * paths or addresses without a limit: without a condition on it, the rule would be wider than the history.
   *
   * @param others Names of arguments that other calls of the tool had. One that no call of this set had must stay away.
   */
  conditions(others: ReadonlySet<string>): Conditions | { readonly unnamed: string } | { readonly unlimited: string } {
    const where: [string, WrittenCondition][] = [];
    const free: string[] = [];
    for (const [name, argument] of this.#all) {
      const condition = argument.count === this.#calls ? argument.condition() : argument.free();
      if (condition === 'unnamed') return { unnamed: name };
      if (condition === 'unlimited') return { unlimited: name };
      if (condition === 'free') free.push(name);
      else where.push([name, condition]);
    }
    for (const name of others) if (!this.#all.has(name)) where.push([name, { present: false }]);
    return { where: Object.fromEntries(where), free };
  }
}

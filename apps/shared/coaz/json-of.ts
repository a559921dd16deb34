import { Optional } from '@marcbachmann/cel-js';
import type { Json } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';

/** How much more the values of one mapping may add up to: a short expression can repeat a value a thousand times. */
export interface Budget {
  values: number;
  characters: number;
}

/** More than a policy needs, and little enough to be sent, stored and shown. */
export const newBudget = (): Budget => ({ values: 20_000, characters: 1024 * 1024 });

/**
 * The JSON of a CEL value; `undefined` for an absent one. Throws a `MappingError` for a value that is not JSON: a duration, a time,
 * bytes, an unsigned number, a type, an absent value within another, a number that is not finite, and a whole number that JSON
 * readers would round.
 *
 * @param at The place of its expression. @see COAZ, Expression Contract (COAZ-FW-09, COAZ-FW-11)
 */
export function jsonOf(value: unknown, at: string, budget: Budget): Json | undefined {
  if (!(value instanceof Optional)) return convert(value, at, budget);
  return value.hasValue() ? convert(value.value(), at, budget) : undefined;
}

function convert(value: unknown, at: string, budget: Budget): Json {
  budget.values -= 1;
  if (typeof value === 'string') budget.characters -= value.length;
  if (budget.values < 0 || budget.characters < 0) throw new MappingError(`${at} resolves to too much data`);
  switch (typeof value) {
    case 'string':
      if (/\p{Surrogate}/u.test(value)) throw new MappingError(`${at} is not well-formed text`);
      return value;
    case 'boolean':
      return value;
    case 'bigint':
      return safe(Number(value), at);
    case 'number':
      // Whole numbers of the message were checked when it was parsed.
      if (!Number.isFinite(value)) throw new MappingError(`${at} is a number that is not finite`);
      return value;
    case 'object':
      return convertObject(value, at, budget);
    case 'undefined':
    case 'symbol':
    case 'function':
      return notJson(at);
  }
}

function convertObject(value: object | null, at: string, budget: Budget): Json {
  if (value === null) return null;
  if (Array.isArray(value)) return value.map((item: unknown) => convert(item, at, budget));
  if (value instanceof Map) {
    return Object.fromEntries([...value].map(([name, item]) => [nameOf(name, at), convert(item, at, budget)]));
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) return notJson(at);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, convert(item, at, budget)]));
}

const nameOf = (name: unknown, at: string): string => (typeof name === 'string' ? name : notJson(at));

function safe(value: number, at: string): number {
  if (Number.isSafeInteger(value)) return value;
  throw new MappingError(`${at} is a whole number beyond 2^53, which JSON readers round`);
}

function notJson(at: string): never {
  throw new MappingError(`${at} is not a JSON value`);
}

/**
 * A mapping that cannot be used at all, or not for this message: the PDP is not asked, and the message is not forwarded. Clients read
 * the text, which names the place and the fault, and contains no claim and no argument.
 * @see COAZ, mapping errors (COAZ-ER-02)
 */
export class MappingError extends CountersignError {
  constructor(problem: string) {
    super('ERR_MAPPING_FAILED', problem);
    this.name = 'MappingError';
  }
}

const MAX_SHOWN = 120;

/** A text of a mapping as a message may quote it: the author of the mapping may be hostile. */
export const shown = (text: string): string => {
  const plain = text.replaceAll(/[^\x20-\x7e]/g, '?');
  return plain.length > MAX_SHOWN ? `${plain.slice(0, MAX_SHOWN)}…` : plain;
};

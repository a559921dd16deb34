import { Optional } from '@marcbachmann/cel-js';
import type { Json } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';

/** What the values of one mapping may still come to: a value that is small to write can be a thousand times in a list. */
export interface Budget {
  values: number;
  characters: number;
}

/** As much as anybody could want to decide by, and little enough to be sent, kept and shown. */
export const newBudget = (): Budget => ({ values: 20_000, characters: 1024 * 1024 });

/**
 * The JSON that a value of CEL is; `undefined` for one that is absent. Throws a `MappingError` for what is no JSON: a duration, a
 * time, bytes, an unsigned number, a type, something absent inside of something, a number that is not finite, and a whole
 * number that JSON readers would round.
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
  if (budget.values < 0 || budget.characters < 0) throw new MappingError(`${at} comes to too much`);
  switch (typeof value) {
    case 'string':
      if (/\p{Surrogate}/u.test(value)) throw new MappingError(`${at} is no well-formed text`);
      return value;
    case 'boolean':
      return value;
    case 'bigint':
      return safe(Number(value), at);
    case 'number':
      // Of a whole number of the message this was looked at before.
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
 * A mapping that cannot be used, or not for this message: nothing is asked about the message, and it goes nowhere. Clients read
 * the text: it names the place in the mapping and what is wrong there, and holds no claim and no argument.
 * @see COAZ, mapping errors (COAZ-ER-02)
 */
export class MappingError extends CountersignError {
  constructor(problem: string) {
    super('ERR_MAPPING_FAILED', problem);
    this.name = 'MappingError';
  }
}

const MAX_SHOWN = 120;

/** A text of a mapping as it may stand in a message: whoever wrote it may be nobody's friend. */
export const shown = (text: string): string => {
  const plain = text.replaceAll(/[^\x20-\x7e]/g, '?');
  return plain.length > MAX_SHOWN ? `${plain.slice(0, MAX_SHOWN)}…` : plain;
};

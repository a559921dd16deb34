import {
  preparsePolicySet,
  preparseSchema,
  type CheckParseAnswer,
  type DetailedError,
  type Schema,
} from '@cedar-policy/cedar-wasm/nodejs';
import type { Policy } from './policies.ts';

/**
 * Names in Cedar's memory for one engine. Cedar keeps what it parsed by name, for the whole process, and can forget nothing;
 * a name that is used again replaces what was there. So names go round: what is kept is bounded by the engines in use and
 * one more.
 */
export interface Slot {
  /** Parses a schema that requests are held against; answers its name. */
  keepSchema(schema: Schema): string;
  /** Parses policies; answers the name of their set. */
  keepPolicies(policies: readonly Policy[]): string;
  /** Gives the names to the next engine: nothing of this slot may be evaluated any more. May be called once. */
  release(): void;
}

const released: number[] = [];
let taken = 0;

export function takeSlot(): Slot {
  const number = released.pop() ?? taken++;
  let [schemas, sets] = [0, 0];
  return {
    keepSchema(schema) {
      const name = `engine ${number} schema ${schemas++}`;
      mustParse(preparseSchema(name, schema));
      return name;
    },
    keepPolicies(policies) {
      const name = `engine ${number} set ${sets++}`;
      const staticPolicies = Object.fromEntries(policies.map(({ id, text }) => [id, text]));
      mustParse(preparsePolicySet(name, { staticPolicies }));
      return name;
    },
    release: () => void released.push(number),
  };
}

/** Everything was parsed before it comes here. */
function mustParse(answer: CheckParseAnswer): void {
  if (answer.type === 'failure') throw new Error(`Cedar refuses what it has read: ${textOf(answer.errors)}`);
}

const textOf = (errors: readonly DetailedError[]) => errors.map(({ message }) => message).join('; ');

import type { CedarValueJson } from '@cedar-policy/cedar-wasm/nodejs';
import { ownProperty } from '../../../workflows/domain/own-property.ts';
import { InvalidPolicies } from './problems.ts';

/** A value that a caller sent does not have the type that the schema declares. The message names the place, never the value. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
}

/** Turns one JSON value into the Cedar value of one declared type. Throws `ConversionError`. */
export type Projection = (value: unknown, path: string) => CedarValueJson;

/** A type of a resolved Cedar schema: a built-in, an extension or common type by name, a set or a record. */
export interface SchemaType {
  readonly type: string;
  readonly element?: SchemaType;
  readonly attributes?: Readonly<Record<string, SchemaType & { readonly required?: boolean }>>;
}

export type CommonTypes = ReadonlyMap<string, SchemaType>;

const EXTENSION_TYPES = ['decimal', 'ipaddr', 'datetime', 'duration'];
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Compiles the projection for a declared type. A record keeps its declared members and drops all others, so that input
 * which no policy can look at never makes an evaluation fail, and Cedar's escape members (`__entity`, `__extn`) are never
 * read from input. Throws `InvalidPolicies` for entity types: callers may not name entities the PDP vouches for.
 */
export function compileProjection(type: SchemaType, common: CommonTypes): Projection {
  switch (type.type) {
    case 'String':
      return toText;
    case 'Bool':
    case 'Boolean':
      return (value, path) => (typeof value === 'boolean' ? value : fail(path, 'a boolean'));
    case 'Long':
      // Cedar counts in 64-bit integers; what JSON.parse has rounded is no longer what the caller wrote.
      return (value, path) => (Number.isSafeInteger(value) ? (value as number) : fail(path, 'a whole number'));
    case 'Set':
      return setOf(compileProjection(type.element ?? { type: 'none' }, common));
    case 'Record':
      return recordOf(type, common);
  }
  if (EXTENSION_TYPES.includes(unqualified(type.type))) return toText;
  const named = common.get(type.type);
  if (named) return compileProjection(named, common);
  const message = `it declares ${type.type} for a value that callers send. Entities can only come from entities.json.`;
  throw new InvalidPolicies([{ file: 'schema.cedarschema', message }]);
}

const toText: Projection = (value, path) =>
  typeof value === 'string' && !LONE_SURROGATE.test(value) ? value : fail(path, 'text');

function setOf(element: Projection): Projection {
  return (value, path) =>
    Array.isArray(value)
      ? value.map((item: unknown, index) => element(item, `${path}[${index}]`))
      : fail(path, 'an array');
}

function recordOf(type: SchemaType, common: CommonTypes): Projection {
  const members = Object.entries(type.attributes ?? {}).map(
    ([name, declared]) => [name, compileProjection(declared, common)] as const,
  );
  return (value, path) => {
    if (!isObject(value)) return fail(path, 'an object');
    const record: Record<string, CedarValueJson> = {};
    for (const [name, project] of members) {
      // Cedar has no null: a member that is null counts as left out (AZ-TR-14).
      const member = ownProperty(value, name);
      if (member !== undefined && member !== null) record[name] = project(member, `${path}.${name}`);
    }
    return record;
  };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const unqualified = (name: string) => name.slice(name.lastIndexOf(':') + 1);

function fail(path: string, expected: string): never {
  throw new ConversionError(`${path} is not ${expected}`);
}

import { isObject, type Json, type JsonObject, objectOf } from '../canonical-json.ts';

/** Keywords of JSON Schema whose value is a map of schemas, a schema, or a list of schemas. Lists of names are maps of data. */
const MAPS: readonly string[] = [
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
];
const DATA_MAPS: readonly string[] = ['dependentRequired'];
const ONES: readonly string[] = [
  ...['additionalProperties', 'items', 'contains', 'not', 'if', 'then', 'else', 'propertyNames'],
  ...['unevaluatedItems', 'unevaluatedProperties', 'additionalItems', 'contentSchema'],
];
const LISTS: readonly string[] = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
/** Keywords whose value may be `null` itself, or is a place for anything. */
const ANYTHING: readonly string[] = ['const', 'default', 'enum', 'examples'];

type OfSchema = (schema: Json) => Json;
interface Change {
  readonly ofKeyword: (keyword: string, value: Json) => Json | undefined;
  readonly ofMap?: (map: Json) => Json;
}

/** The same schema with a change in every schema in it. Values that are data stay. */
function changedSchema(schema: Json, change: OfSchema, of: Change): Json {
  const changed = change(schema);
  if (!isObject(changed)) return changed;
  const inner = (one: Json) => changedSchema(one, change, of);
  const members = Object.entries(changed).flatMap(([keyword, given]): [string, Json][] => {
    const value = of.ofKeyword(keyword, given);
    if (value === undefined) return [];
    if (MAPS.includes(keyword) && isObject(value)) {
      return [[keyword, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one)]))]];
    }
    if (LISTS.includes(keyword) && Array.isArray(value)) return [[keyword, (value as readonly Json[]).map(inner)]];
    return [[keyword, ONES.includes(keyword) ? inner(value) : value]];
  });
  return Object.fromEntries(members);
}

const isEmptyList = (value: Json | undefined): boolean => Array.isArray(value) && value.length === 0;
const asMap = (value: Json): Json => (isEmptyList(value) ? {} : value);

/** PHP writes an empty map as `[]`, and many languages write an absent member as `null`. */
const repairedSchema = (schema: Json): Json =>
  changedSchema(schema, asMap, {
    ofKeyword(keyword, value) {
      if (ANYTHING.includes(keyword)) return value;
      if (value === null) return undefined;
      return MAPS.includes(keyword) || DATA_MAPS.includes(keyword) ? asMap(value) : value;
    },
  });

/** Members of descriptions that are maps, schemas, or lists of objects. */
const DESCRIBED = {
  maps: ['annotations', '_meta', 'execution'],
  schemas: ['inputSchema', 'outputSchema'],
  lists: ['icons', 'arguments'],
};

/**
 * The description of a tool, a prompt, a resource or a template as its server meant it: an empty list in place of a map is a map, and a
 * member that is `null` is absent. It is digested, accepted and published like this.
 */
export function repaired(definition: JsonObject): JsonObject {
  return withoutNulls(definition, (name, value) => {
    if (DESCRIBED.schemas.includes(name)) return repairedSchema(value);
    if (DESCRIBED.lists.includes(name) && Array.isArray(value)) {
      return (value as readonly Json[]).map((one) =>
        isObject(one) ? withoutNulls(one, (_name, member) => member) : one,
      );
    }
    if (!DESCRIBED.maps.includes(name)) return value;
    const map = asMap(value);
    return name === '_meta' || !isObject(map) ? map : withoutNulls(map, (_name, member) => member);
  });
}

const withoutNulls = (object: JsonObject, of: (name: string, value: Json) => Json): JsonObject =>
  Object.fromEntries(
    Object.entries(object).flatMap(([name, value]) => (value === null ? [] : [[name, of(name, value)]])),
  );

/** In earlier revisions, a property is described by an object. These mean the same as `true` and `false`. */
const [ANY, NONE]: readonly [JsonObject, JsonObject] = [{}, { not: {} }];

/** The same schema for clients of earlier revisions, which refuse a whole list for a property that is described by `true` or `false`. */
export const schemaForEarlier = (schema: Json): Json =>
  changedSchema(schema, (one) => one, {
    ofKeyword(keyword, value) {
      if (keyword !== 'properties') return value;
      const asObject = (one: Json) => (typeof one === 'boolean' ? (one ? ANY : NONE) : one);
      return Object.fromEntries(Object.entries(objectOf(value)).map(([name, one]) => [name, asObject(one)]));
    },
  });

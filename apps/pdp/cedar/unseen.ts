import type { EntityJson, SchemaJson, TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import { isObject } from './projection.ts';

/**
 * What Cedar is not told of entities, by their type, since no policy looks at it: their `type` and `id`. To read an attribute takes it
 * longer than to evaluate a policy. Whatever else is said of them is told, looked at or not, and has to fit the schema.
 */
export type Unseen = ReadonlyMap<string, ReadonlySet<string>>;

const ENTITY_TYPES = ['Subject', 'Resource'] as const;
/** Attributes of which the host, which fills them in, knows what they are. */
const NAMES = ['type', 'id'] as const;

/** Every name by which these conditions reach for an attribute of whatever it may be. Cedar has no other way to one. */
export function attributesIn(conditions: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  const look = (expression: unknown): void => {
    if (Array.isArray(expression)) return expression.forEach(look);
    if (!isObject(expression)) return;
    for (const [operator, operands] of Object.entries(expression)) {
      if ((operator === '.' || operator === 'has') && isObject(operands))
        for (const name of [operands['attr']].flat()) if (typeof name === 'string') names.add(name);
      look(operands);
    }
  };
  look(conditions);
  return names;
}

/** What policies do not look at, and the schema for questions that do not have it. */
export function unseenBy(
  policies: readonly { readonly attributes: ReadonlySet<string> }[],
  schema: SchemaJson<string>,
): { readonly unseen: Unseen; readonly schema: SchemaJson<string> } {
  const { '': root, ...others } = schema;
  // An entity type of this name would be meant by it.
  if (root === undefined || 'String' in root.entityTypes) return { unseen: new Map(), schema };
  const entityTypes = { ...root.entityTypes };
  const unseen = new Map<string, ReadonlySet<string>>();
  for (const entityType of ENTITY_TYPES) {
    const declared = entityTypes[entityType];
    if (declared === undefined || !('shape' in declared) || !declared.shape || !('attributes' in declared.shape))
      continue;
    const attributes = { ...declared.shape.attributes };
    const names = NAMES.filter((name) => isText(attributes[name]) && !policies.some((one) => one.attributes.has(name)));
    for (const name of names) if (attributes[name]) attributes[name] = { ...attributes[name], required: false };
    entityTypes[entityType] = { ...declared, shape: { ...declared.shape, attributes } };
    unseen.set(entityType, new Set(names));
  }
  return { unseen, schema: { ...others, '': { ...root, entityTypes } } };
}

/** Of another type it would be refused with what the host fills in, and that has to stay so. */
const isText = (declared: { readonly type: string; readonly name?: unknown } | undefined): boolean =>
  declared?.type === 'String' || (declared?.type === 'EntityOrCommon' && declared.name === 'String');

/** The entities without what is not seen of them. */
export function seenOf(entities: readonly EntityJson[], unseen: Unseen): EntityJson[] {
  return entities.map((entity) => {
    const names = unseen.get((entity.uid as TypeAndId).type);
    if (names === undefined || names.size === 0) return entity;
    const attrs = Object.fromEntries(Object.entries(entity.attrs).filter(([name]) => !names.has(name)));
    return { ...entity, attrs };
  });
}

import type { EntityJson, TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import type { OwnEntities } from './entities.ts';
import type { EntityShape } from './schema.ts';

/** What the request says about an entity, under what the PDP itself knows about it. Throws `ConversionError`. */
export function toEntity(
  uid: TypeAndId,
  said: { type: string; id: string; properties?: unknown },
  known: { shape: EntityShape; entities: OwnEntities; path: string },
): EntityJson {
  const { attributes, projectProperties } = known.shape;
  const own = known.entities.about(uid);
  const attrs: EntityJson['attrs'] = { ...own.attrs };
  if (attributes.has('type')) attrs['type'] = said.type;
  if (attributes.has('id')) attrs['id'] = said.id;
  if (projectProperties) attrs['properties'] = projectProperties(said.properties ?? {}, `${known.path}.properties`);
  return { ...own, uid, attrs, parents: [...own.parents] };
}

/** Cedar refuses an entity that is there twice; the first, which the request is about, is the fullest. */
export function unique(entities: readonly EntityJson[]): EntityJson[] {
  const byUid = new Map<string, EntityJson>();
  for (const entity of entities) {
    const { type, id } = entity.uid as TypeAndId;
    const key = `${type}::${id}`;
    if (!byUid.has(key)) byUid.set(key, entity);
  }
  return [...byUid.values()];
}

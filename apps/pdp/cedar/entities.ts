import { checkParseEntities, type EntityJson, type TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import * as z from 'zod';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { parseEntityId } from './entity-id.ts';
import { describeErrors } from './policies.ts';
import { isObject } from './projection.ts';
import type { SchemaShape } from './schema.ts';

/** What the PDP itself knows. Attributes that give power come from here alone; what a request says is kept apart. */
export interface OwnEntities {
  /** Attributes and parents the PDP holds for an entity; empty when it knows none. */
  about(uid: TypeAndId): Pick<EntityJson, 'attrs' | 'parents'>;
  /** Every other entity that can be reached from this one through parents and attributes. */
  around(uid: TypeAndId): readonly EntityJson[];
}

const uidSchema = z.union([
  z.strictObject({ type: z.string(), id: z.string() }),
  z.strictObject({ __entity: z.strictObject({ type: z.string(), id: z.string() }) }).transform((uid) => uid.__entity),
]);
const fileSchema = z.array(
  z.strictObject({
    uid: uidSchema,
    attrs: z.record(z.string(), z.json()).default({}),
    parents: z.array(uidSchema).default([]),
    tags: z.record(z.string(), z.json()).optional(),
  }),
);

/** Attributes of subjects and resources that the host fills in, so entities.json may not. */
export const HOST_ATTRIBUTES = ['type', 'id', 'properties'] as const;
const NOTHING: Omit<EntityJson, 'uid'> = { attrs: {}, parents: [] };

/** Reads entities.json and holds it against the schema. Throws `ERR_CONFIG_INVALID`. */
export function readEntities(text: string, schema: { text: string; shape: SchemaShape }): OwnEntities {
  const known = new Map<string, EntityJson & { uid: TypeAndId }>();
  for (const entity of parseFile(text)) {
    const key = keyOf(entity.uid);
    if (known.has(key)) throw invalid(`${key} is there twice. Join the two entries.`);
    known.set(key, { ...entity, attrs: { ...hostAttributes(entity, schema.shape), ...entity.attrs } } as EntityJson & {
      uid: TypeAndId;
    });
  }
  const checked = checkParseEntities({ entities: [...known.values()], schema: schema.text });
  if (checked.type === 'failure') throw invalid(describeErrors(checked.errors, text));

  const closures = new Map([...known.keys()].map((key) => [key, reachableFrom(key, known)]));
  return {
    about: (uid) => known.get(keyOf(uid)) ?? NOTHING,
    around: (uid) => closures.get(keyOf(uid)) ?? [],
  };
}

const keyOf = (uid: TypeAndId) => `${uid.type}::"${uid.id}"`;

function parseFile(text: string): z.infer<typeof fileSchema> {
  try {
    return fileSchema.parse(JSON.parse(text));
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause) : 'it is not JSON';
    throw invalid(`${why}. Write a JSON array of { "uid": { "type", "id" }, "attrs", "parents" }.`, cause);
  }
}

function hostAttributes(entity: z.infer<typeof fileSchema>[number], shape: SchemaShape): Record<string, unknown> {
  const { type } = entity.uid;
  if (type !== 'Subject' && type !== 'Resource') return {};
  const name = parseEntityId(entity.uid.id);
  if (!name) throw invalid(`${keyOf(entity.uid)} is not of the form "type|id", for example "identity|alice".`);
  const taken = HOST_ATTRIBUTES.find((attribute) => attribute in entity.attrs);
  if (taken)
    throw invalid(`${keyOf(entity.uid)} sets "${taken}", which is filled in from each request. Use another name.`);
  const declared = (type === 'Subject' ? shape.subject : shape.resource).attributes;
  return Object.fromEntries(
    Object.entries({ ...name, properties: {} }).filter(([attribute]) => declared.has(attribute)),
  );
}

function reachableFrom(start: string, known: ReadonlyMap<string, EntityJson>): EntityJson[] {
  const seen = new Set([start]);
  const found: EntityJson[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (!isObject(value)) return;
    const key =
      typeof value.type === 'string' && typeof value.id === 'string' ? keyOf({ type: value.type, id: value.id }) : '';
    const entity = known.get(key);
    if (entity && !seen.has(key)) {
      seen.add(key);
      found.push(entity);
      visit([entity.parents, entity.attrs, entity.tags]);
    }
    Object.values(value).forEach(visit);
  };
  const { parents, attrs, tags } = known.get(start) ?? NOTHING;
  visit([parents, attrs, tags]);
  return found;
}

function invalid(message: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_CONFIG_INVALID', `entities.json: ${message}`, { cause });
}

import {
  checkParseEntities,
  type CedarValueJson,
  type EntityJson,
  type TypeAndId,
} from '@cedar-policy/cedar-wasm/nodejs';
import * as z from 'zod';
import type { Directory } from '../../shared/directory/directory.ts';
import { factsOf } from './directory-facts.ts';
import { parseEntityId, type Known } from './entity-id.ts';
import { InvalidPolicies, cedarProblems, endOf, type Problem } from './problems.ts';
import { isObject } from './projection.ts';
import type { SchemaShape } from './schema.ts';
import type { Steps } from './steps.ts';

/** What the PDP itself knows. Attributes that give power come from here alone; what a request says is kept apart. */
export interface OwnEntities {
  /** What the PDP holds for an entity; empty when it knows none. */
  about(uid: TypeAndId): Omit<EntityJson, 'uid'>;
  /** Those of these that are known, and every entity that can be reached from them through parents, attributes and tags. */
  from(uids: readonly TypeAndId[]): readonly EntityJson[];
  /** Every entity that is known by name. */
  readonly uids: readonly TypeAndId[];
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

const ENTITIES_FILE = 'entities.json';
/** Attributes of subjects and resources that the host fills in, so entities.json may not. */
export const HOST_ATTRIBUTES = ['type', 'id', 'properties'] as const;
const NOTHING: Omit<EntityJson, 'uid'> = { attrs: {}, parents: [] };
const CHECKED_PER_STEP = 500;

/** Reads entities.json, adds what the directory knows, and holds both against the schema. Throws `InvalidPolicies`. */
export function* readEntities(
  files: { text: string; directory?: Directory | undefined },
  schema: { text: string; shape: SchemaShape },
): Steps<OwnEntities> {
  const known = new Map<string, Known>();
  for (const entity of parseFile(files.text)) {
    const key = keyOf(entity.uid);
    if (known.has(key)) throw invalid(`${key} is there twice. Join the two entries.`);
    known.set(key, withHostAttributes(entity as Known, schema.shape));
  }
  // All of the file at once, since groups may be in groups, and none may be in itself.
  check([...known.values()], schema.text);
  yield;
  const people: Known[] = [];
  for (const person of files.directory?.people ?? []) {
    const facts = factsOf(person, schema.shape.subject);
    const own = known.get(keyOf(facts.uid));
    const merged = own ? merge(own, facts) : withHostAttributes(facts, schema.shape);
    people.push(merged);
    known.set(keyOf(facts.uid), merged);
  }
  for (let first = 0; first < people.length; first += CHECKED_PER_STEP) {
    check(people.slice(first, first + CHECKED_PER_STEP), schema.text);
    yield;
  }
  return {
    about: (uid) => known.get(keyOf(uid)) ?? NOTHING,
    from: (uids) => reachableFrom(uids, known),
    uids: [...known.values()].map(({ uid }) => uid),
  };
}

const keyOf = (uid: TypeAndId) => `${uid.type}::"${uid.id}"`;

function parseFile(text: string): z.infer<typeof fileSchema> {
  try {
    return fileSchema.parse(JSON.parse(text));
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause) : 'it is not JSON';
    const place = cause instanceof SyntaxError ? placeOf(cause, text) : {};
    const message = `${why}. Write a JSON array of { "uid": { "type", "id" }, "attrs", "parents" }.`;
    throw new InvalidPolicies([{ file: ENTITIES_FILE, ...place, message }], cause);
  }
}

/** V8 says where, and quotes what is there: only the first may be told. */
function placeOf(error: SyntaxError, text: string): Partial<Problem> {
  const position = /at position (\d+)/.exec(error.message)?.[1];
  return position === undefined ? {} : endOf(text.slice(0, Number(position)));
}

/** Two sources for one fact would leave open which of them counts. */
function merge(own: Known, facts: Known): Known {
  const twice = Object.keys(facts.attrs).find((attribute) => attribute in own.attrs);
  if (twice !== undefined)
    throw invalid(`${keyOf(facts.uid)} sets "${twice}", which the directory says of people. Leave it out.`);
  return { ...own, attrs: { ...own.attrs, ...facts.attrs }, parents: [...own.parents, ...facts.parents] };
}

function withHostAttributes(entity: Known, shape: SchemaShape): Known {
  const { type } = entity.uid;
  if (type !== 'Subject' && type !== 'Resource') return entity;
  const name = parseEntityId(entity.uid.id);
  if (!name) throw invalid(`${keyOf(entity.uid)} is not of the form "type|id", for example "identity|alice".`);
  const taken = HOST_ATTRIBUTES.find((attribute) => attribute in entity.attrs);
  if (taken)
    throw invalid(`${keyOf(entity.uid)} sets "${taken}", which is filled in from each request. Use another name.`);
  const declared = (type === 'Subject' ? shape.subject : shape.resource).attributes;
  const filled: Record<string, CedarValueJson> = { ...name, properties: {} };
  const attrs = Object.fromEntries(Object.entries(filled).filter(([attribute]) => declared.has(attribute)));
  return { ...entity, attrs: { ...attrs, ...entity.attrs } };
}

function check(entities: readonly Known[], schema: string): void {
  const checked = checkParseEntities({ entities: [...entities], schema });
  if (checked.type === 'failure')
    throw new InvalidPolicies(cedarProblems(checked.errors, { file: ENTITIES_FILE, text: '' }));
}

function reachableFrom(start: readonly TypeAndId[], known: ReadonlyMap<string, EntityJson>): EntityJson[] {
  const seen = new Set<string>();
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
  visit(start);
  return found;
}

function invalid(message: string): InvalidPolicies {
  return new InvalidPolicies([{ file: ENTITIES_FILE, message }]);
}

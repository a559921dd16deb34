import { setImmediate } from 'node:timers/promises';
import {
  checkParseEntities,
  type CedarValueJson,
  type EntityJson,
  type TypeAndId,
} from '@cedar-policy/cedar-wasm/nodejs';
import * as z from 'zod';
import { isObject } from '../../../../workflows/domain/canonical-json.ts';
import type { Directory, DirectoryPerson } from '../../../shared/directory/directory.ts';
import type { Candidates } from '../policy-engine.ts';
import { groupBy, portions } from './lists.ts';
import { cedarProblems, InvalidPolicies, placeOfSyntaxError } from './problems.ts';
import type { EntityShape, SchemaShape } from './schema.ts';

/** What the PDP itself knows. Attributes that give power come from here alone. What a request says is kept apart. */
export type OwnEntities = Awaited<ReturnType<typeof readEntities>>;

/** An entity whose uid is in the short form. */
type KnownEntity = EntityJson & { uid: TypeAndId };

/**
 * AuthZEN names an entity by type and id, and a type may be any text. Cedar types have to be identifiers. So every subject
 * is a Cedar `Subject` and every resource a `Resource`, with `type|id` as id. The separator is escaped in both parts, so
 * that no two entities share a name (AZ-IM-04).
 */
export function entityId(entity: { type: string; id: string }): string {
  return `${escape(entity.type)}|${escape(entity.id)}`;
}

/** The AuthZEN type and id behind an entity id. Undefined if the id does not have that form. */
export function parseEntityId(id: string): { type: string; id: string } | undefined {
  const parts = id.split('|');
  const [type, name] = parts;
  if (parts.length !== 2 || type === undefined || name === undefined) return undefined;
  return { type: unescape(type), id: unescape(name) };
}

const escape = (text: string) => text.replaceAll('%', '%25').replaceAll('|', '%7C');
const unescape = (text: string) => text.replaceAll('%7C', '|').replaceAll('%25', '%');

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
const HOST_ATTRIBUTES = ['type', 'id', 'properties'] as const;
const CHECKED_PER_STEP = 500;

/** Reads entities.json, adds what the directory knows, and checks both against the schema. Throws `InvalidPolicies`. */
export async function readEntities(
  files: { text: string; directory?: Directory | undefined },
  schema: { text: string; shape: SchemaShape },
) {
  const known = new Map<string, KnownEntity>();
  for (const entity of parseFile(files.text)) {
    const key = keyOf(entity.uid);
    if (known.has(key)) throw invalid(`${key} is there twice. Join the two entries.`);
    known.set(key, withHostAttributes(entity as KnownEntity, schema.shape));
  }
  // The whole file at once, since groups may be in groups, and no group may contain itself.
  check([...known.values()], schema.text);
  await setImmediate();
  const people: KnownEntity[] = [];
  for (const person of files.directory?.people ?? []) {
    const facts = factsOf(person, schema.shape.subject);
    const own = known.get(keyOf(facts.uid));
    const merged = own ? merge(own, facts) : withHostAttributes(facts, schema.shape);
    people.push(merged);
    known.set(keyOf(facts.uid), merged);
  }
  for (const some of portions(people, CHECKED_PER_STEP)) {
    check(some, schema.text);
    await setImmediate();
  }
  return {
    /** What the PDP holds for an entity. Empty if it knows none. */
    about: (uid: TypeAndId): Omit<EntityJson, 'uid'> => known.get(keyOf(uid)) ?? { attrs: {}, parents: [] },
    /** The known ones of these, and every entity that can be reached from them through parents, attributes and tags. */
    from: (uids: readonly TypeAndId[]) => reachableFrom(uids, known),
    uids: [...known.values()].map(({ uid }) => uid),
  };
}

const keyOf = (uid: TypeAndId) => `${uid.type}::"${uid.id}"`;

function parseFile(text: string): z.infer<typeof fileSchema> {
  try {
    return fileSchema.parse(JSON.parse(text));
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause) : 'it is not JSON';
    const message = `${why}. Write a JSON array of { "uid": { "type", "id" }, "attrs", "parents" }.`;
    throw new InvalidPolicies([{ file: ENTITIES_FILE, ...placeOfSyntaxError(cause, text), message }], cause);
  }
}

/** AuthZEN type of the directory's people in requests. */
const PERSON_TYPE = 'identity';
const GROUP = 'Group';

/**
 * What the directory says about a person, as far as the schema declares it: `active`, `manager` and `displayName` of
 * `Subject`, and every group as a parent if `Subject` may be `in [Group]`.
 */
function factsOf(person: DirectoryPerson, subject: EntityShape): KnownEntity {
  const { displayName, isActive, manager } = person;
  const facts: Record<string, CedarValueJson | undefined> = {
    active: isActive,
    displayName,
    manager: manager === undefined ? undefined : managerOf(manager, subject),
  };
  const declared = Object.entries(facts).filter(
    (fact): fact is [string, CedarValueJson] => fact[1] !== undefined && subject.attributes.has(fact[0]),
  );
  const groups = subject.memberOf.has(GROUP) ? [...person.groups].sort() : [];
  return {
    uid: personUid(person.subject),
    attrs: Object.fromEntries(declared),
    parents: groups.map((id) => ({ type: GROUP, id })),
  };
}

const personUid = (id: string): TypeAndId => ({ type: 'Subject', id: entityId({ type: PERSON_TYPE, id }) });

/** An entity where the schema wants one, so that policies may ask about the manager's own groups. Otherwise the subject. */
const managerOf = (manager: string, subject: EntityShape): CedarValueJson =>
  subject.references.has('manager') ? { __entity: personUid(manager) } : manager;

/** With two sources for one fact, it would be open which of them counts. */
function merge(own: KnownEntity, facts: KnownEntity): KnownEntity {
  const twice = Object.keys(facts.attrs).find((attribute) => attribute in own.attrs);
  if (twice !== undefined)
    throw invalid(`${keyOf(facts.uid)} sets "${twice}", which the directory says of people. Leave it out.`);
  return { ...own, attrs: { ...own.attrs, ...facts.attrs }, parents: [...own.parents, ...facts.parents] };
}

function withHostAttributes(entity: KnownEntity, shape: SchemaShape): KnownEntity {
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

function check(entities: readonly KnownEntity[], schema: string): void {
  const checked = checkParseEntities({ entities: [...entities], schema });
  if (checked.type === 'failure')
    throw new InvalidPolicies(cedarProblems(checked.errors, { file: ENTITIES_FILE, text: '' }));
}

function reachableFrom(start: readonly TypeAndId[], known: ReadonlyMap<string, EntityJson>): EntityJson[] {
  const found = new Map<string, EntityJson>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (!isObject(value)) return;
    const { type, id } = value;
    const key = typeof type === 'string' && typeof id === 'string' ? keyOf({ type, id }) : '';
    const entity = known.get(key);
    if (entity && !found.has(key)) {
      found.set(key, entity);
      visit([entity.parents, entity.attrs, entity.tags]);
    }
    Object.values(value).forEach(visit);
  };
  visit(start);
  return [...found.values()];
}

/** Candidates for searches: the entities that the PDP knows, and the actions of its schema. */
export function candidatesOf(uids: readonly TypeAndId[], actions: Iterable<string>): Candidates {
  const idsOf = (kind: 'Subject' | 'Resource') => {
    const named = [...uids].flatMap(({ type, id }) => (type === kind && parseEntityId(id)) || []);
    const groups = [...groupBy(named, ({ type }) => [type])];
    return new Map(groups.map(([type, group]) => [type, group.map(({ id }) => id).sort()]));
  };
  const [subjects, resources] = [idsOf('Subject'), idsOf('Resource')];
  return {
    subjects: (type) => subjects.get(type) ?? [],
    resources: (type) => resources.get(type) ?? [],
    actions: [...actions].sort(),
  };
}

function invalid(message: string): InvalidPolicies {
  return new InvalidPolicies([{ file: ENTITIES_FILE, message }]);
}

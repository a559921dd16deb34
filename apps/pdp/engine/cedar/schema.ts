import { schemaToJsonWithResolvedTypes, type CedarValueJson, type SchemaJson } from '@cedar-policy/cedar-wasm/nodejs';
import { isObject, ownProperty } from '../../../../workflows/domain/canonical-json.ts';
import { isTimeZone } from '../../../shared/config/units.ts';
import { HOST_MEMBERS, type DeclaredValues } from './facts.ts';
import { cedarProblems, InvalidPolicies } from './problems.ts';

/** What the schema says about one action, prepared for requests. */
export interface ActionShape {
  readonly name: string;
  /** The action and every group it is in, by name. */
  readonly groups: ReadonlySet<string>;
  /** Members of the context that policies may look at. */
  readonly context: ReadonlySet<string>;
  /** The arguments that policies may look at by their type. Undefined if the schema declares no `values`. */
  readonly values: DeclaredValues | undefined;
  /** The time zones that policies may look at. Undefined if the schema declares no `time` as a record. */
  readonly zones: DeclaredValues | undefined;
  readonly projectContext: Projection;
}

/** What the schema declares for the two entity types that requests are mapped to. */
export interface EntityShape {
  readonly attributes: ReadonlySet<string>;
  /** Attributes whose value is an entity. */
  readonly references: ReadonlySet<string>;
  /** Types of entities that it may be in. */
  readonly memberOf: ReadonlySet<string>;
  /** Projection of AuthZEN `properties`. Absent if the schema declares none. */
  readonly projectProperties: Projection | undefined;
}

export interface SchemaShape {
  readonly subject: EntityShape;
  readonly resource: EntityShape;
  readonly actions: ReadonlyMap<string, ActionShape>;
  /** The schema with some of its actions. */
  readonly schemaOf: ActionSchema;
}

/** Turns one JSON value into the Cedar value of one declared type. Throws `ConversionError`. */
export type Projection = (value: unknown, path: string) => CedarValueJson;

/** A value that a caller sent does not have the type that the schema declares. The message names the place, never the value. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
}

/** A type of a resolved Cedar schema: a built-in, an extension or common type by name, a set or a record. */
interface SchemaType {
  readonly type: string;
  readonly element?: SchemaType;
  readonly attributes?: Readonly<Record<string, SchemaType & { readonly required?: boolean }>>;
}

type CommonTypes = ReadonlyMap<string, SchemaType>;

interface ResolvedNamespace {
  readonly commonTypes?: Record<string, SchemaType>;
  readonly entityTypes: Record<string, { readonly shape?: SchemaType; readonly memberOfTypes?: readonly string[] }>;
  readonly actions: Record<
    string,
    { readonly memberOf?: readonly { id: string }[]; readonly appliesTo?: { readonly context?: SchemaType } }
  >;
}

/** Name of the context member that holds verified approval facts. Nothing a caller sends is ever put there. */
export const APPROVAL_MEMBER = 'approval';
/** Name of the context member that holds the properties of the AuthZEN action. */
export const ACTION_MEMBER = 'action';

export const SCHEMA_FILE = 'schema.cedarschema';

/** Reads a Cedar schema once, so that a request only has to be projected. Throws `InvalidPolicies`. */
export function readSchema(text: string): SchemaShape {
  const answer = schemaToJsonWithResolvedTypes(text);
  if (answer.type === 'failure') throw new InvalidPolicies(cedarProblems(answer.errors, { file: SCHEMA_FILE, text }));
  const namespaces = answer.json as unknown as Record<string, ResolvedNamespace>;
  const root = namespaces[''];
  if (!root?.entityTypes['Subject'] || !root.entityTypes['Resource']) {
    const message = 'it declares no entity Subject or no entity Resource. Every request is mapped to these two.';
    throw new InvalidPolicies([{ file: SCHEMA_FILE, message }]);
  }
  const common: CommonTypes = new Map(
    Object.entries(namespaces).flatMap(([namespace, { commonTypes = {} }]) =>
      Object.entries(commonTypes).map(([name, type]) => [namespace ? `${namespace}::${name}` : name, type] as const),
    ),
  );
  return {
    subject: entityShape(root, 'Subject', common),
    resource: entityShape(root, 'Resource', common),
    actions: new Map(Object.keys(root.actions).map((name) => [name, actionShape(root, name, common)])),
    schemaOf: actionSchemas(answer.json),
  };
}

function attributesOf(type: SchemaType | undefined, common: CommonTypes): NonNullable<SchemaType['attributes']> {
  if (!type) return {};
  return type.attributes ?? common.get(type.type)?.attributes ?? {};
}

function entityShape(root: ResolvedNamespace, name: 'Subject' | 'Resource', common: CommonTypes): EntityShape {
  const type = root.entityTypes[name];
  const attributes = attributesOf(type?.shape, common);
  const { properties } = attributes;
  return {
    attributes: new Set(Object.keys(attributes)),
    references: new Set(Object.keys(attributes).filter((attribute) => attributes[attribute]?.type === 'Entity')),
    memberOf: new Set(type?.memberOfTypes),
    projectProperties: properties && compileProjection(properties, common),
  };
}

function actionShape(root: ResolvedNamespace, name: string, common: CommonTypes): ActionShape {
  const attributes = attributesOf(root.actions[name]?.appliesTo?.context, common);
  const { [APPROVAL_MEMBER]: _approval, [HOST_MEMBERS.approved]: _approved, ...others } = attributes;
  const { [HOST_MEMBERS.values]: values, ...said } = others;
  const zones = zonesOf(said[HOST_MEMBERS.time], common);
  const { [HOST_MEMBERS.time]: _time, ...withoutTime } = said;
  const fromCallers = zones === undefined ? said : withoutTime;
  return {
    name,
    groups: groupsOf(root, name),
    context: new Set(Object.keys(attributes)),
    values: values && declaredValues(values, common),
    zones,
    projectContext: compileProjection({ type: 'Record', attributes: fromCallers }, common),
  };
}

function zonesOf(type: SchemaType | undefined, common: CommonTypes): DeclaredValues | undefined {
  if (type === undefined || (type.type !== 'Record' && common.get(type.type)?.type !== 'Record')) return undefined;
  const zones = declaredValues(type, common);
  const unknown = [...zones.keys()].find((zone) => !isTimeZone(zone));
  if (unknown === undefined) return zones;
  const message = `context.time has "${unknown}", which is no time zone. Use IANA names, such as Europe/Zurich.`;
  throw new InvalidPolicies([{ file: SCHEMA_FILE, message }]);
}

const declaredValues = (type: SchemaType, common: CommonTypes): DeclaredValues =>
  new Map(
    Object.entries(attributesOf(type, common)).map(([key, value]) => [
      key,
      new Set(Object.keys(attributesOf(value, common))),
    ]),
  );

function groupsOf(root: ResolvedNamespace, name: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(name)) return seen;
  seen.add(name);
  for (const parent of root.actions[name]?.memberOf ?? []) groupsOf(root, parent.id, seen);
  return seen;
}

/** The schema with these actions alone. Every group that one of them is in has to be among them. */
export type ActionSchema = (names: ReadonlySet<string>) => SchemaJson<string>;

/**
 * Cuts a schema by actions. Cedar looks at the whole schema in each evaluation, and at every action for each policy that it
 * validates: with a thousand actions that takes longer than the policies do.
 */
function actionSchemas({ '': root, ...others }: SchemaJson<string>): ActionSchema {
  // Requests can only name actions outside of namespaces.
  return (names) => {
    if (root === undefined) return others;
    const actions = Object.entries(root.actions).filter(([name]) => names.has(name));
    return { ...others, '': { ...root, actions: Object.fromEntries(actions) } };
  };
}

const EXTENSION_TYPES = ['decimal', 'ipaddr', 'datetime', 'duration'];
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Compiles the projection for a declared type. A record keeps its declared members and drops all others. So input that no
 * policy can look at never makes an evaluation fail, and Cedar's escape members (`__entity`, `__extn`) are never read from
 * input. Throws `InvalidPolicies` for entity types: callers may not name entities the PDP vouches for.
 */
function compileProjection(type: SchemaType, common: CommonTypes): Projection {
  // A schema may name a built-in type in full, so that no type of its own hides it.
  switch (type.type.replace(/^__cedar::/, '')) {
    case 'String':
      return toText;
    case 'Bool':
    case 'Boolean':
      return (value, path) => (typeof value === 'boolean' ? value : fail(path, 'a boolean'));
    case 'Long':
      // Cedar counts in 64-bit integers. What JSON.parse has rounded is not what the caller wrote.
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
  throw new InvalidPolicies([{ file: SCHEMA_FILE, message }]);
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

const unqualified = (name: string) => name.slice(name.lastIndexOf(':') + 1);

function fail(path: string, expected: string): never {
  throw new ConversionError(`${path} is not ${expected}`);
}

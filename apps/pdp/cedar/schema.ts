import { schemaToJsonWithResolvedTypes } from '@cedar-policy/cedar-wasm/nodejs';
import { cedarProblems, InvalidPolicies } from './problems.ts';
import { compileProjection, type CommonTypes, type Projection, type SchemaType } from './projection.ts';

/** What the schema says about one action, made ready for requests. */
export interface ActionShape {
  readonly name: string;
  /** The action and every group it is in, by name. */
  readonly groups: ReadonlySet<string>;
  /** Members of the context that policies may look at. */
  readonly context: ReadonlySet<string>;
  readonly projectContext: Projection;
}

/** What the schema declares for the two entity types that requests are mapped to. */
export interface EntityShape {
  readonly attributes: ReadonlySet<string>;
  /** Attributes whose value is an entity. */
  readonly references: ReadonlySet<string>;
  /** Types of entities that it may be in. */
  readonly memberOf: ReadonlySet<string>;
  /** Projection of AuthZEN `properties`; absent when the schema declares none. */
  readonly projectProperties: Projection | undefined;
}

export interface SchemaShape {
  readonly subject: EntityShape;
  readonly resource: EntityShape;
  readonly actions: ReadonlyMap<string, ActionShape>;
}

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
  const common = commonTypes(namespaces);
  return {
    subject: entityShape(root, 'Subject', common),
    resource: entityShape(root, 'Resource', common),
    actions: new Map(Object.keys(root.actions).map((name) => [name, actionShape(root, name, common)])),
  };
}

function commonTypes(namespaces: Record<string, ResolvedNamespace>): CommonTypes {
  const entries = Object.entries(namespaces).flatMap(([namespace, { commonTypes = {} }]) =>
    Object.entries(commonTypes).map(([name, type]) => [namespace ? `${namespace}::${name}` : name, type] as const),
  );
  return new Map(entries);
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
  const { [APPROVAL_MEMBER]: _approval, ...fromCallers } = attributes;
  return {
    name,
    groups: groupsOf(root, name),
    context: new Set(Object.keys(attributes)),
    projectContext: compileProjection({ type: 'Record', attributes: fromCallers }, common),
  };
}

function groupsOf(root: ResolvedNamespace, name: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(name)) return seen;
  seen.add(name);
  for (const parent of root.actions[name]?.memberOf ?? []) groupsOf(root, parent.id, seen);
  return seen;
}

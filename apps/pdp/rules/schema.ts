import { schemaToJson, schemaToText, type SchemaJson } from '@cedar-policy/cedar-wasm/nodejs';
import { type Condition, conditionsIn, matchesIn, type Rule } from '../../shared/rules/rules.ts';
import { cedarProblems, InvalidPolicies } from '../engine/cedar/problems.ts';
import { HOST_MEMBERS } from '../engine/cedar/facts.ts';
import { SCHEMA_FILE } from '../engine/cedar/schema.ts';

/** The actions that rules are about. */
const ACTIONS = ['tools/call', 'prompts/get', 'resources/read', 'completion/complete'] as const;

const required = (type: string, more: object = {}) => ({ type, required: true, ...more });
const optional = (type: string, more: object = {}) => ({ type, required: false, ...more });
const TEXTS = { element: { type: 'String' } };
const record = (attributes: object) => ({ attributes });

const LETTERED = { text: required('String'), folded: required('String') };

const VALUE = {
  text: optional('String'),
  lower: optional('Extension', { name: 'decimal' }),
  truth: optional('Boolean'),
};
/** What an argument has besides, by what the conditions on it look at. */
const MEMBERS = {
  plain: required('Boolean'),
  exact: required('Boolean'),
  folded: optional('String'),
  path: optional('Record', record({ kind: required('String'), ...LETTERED, portable: required('Boolean') })),
  name: optional('Record', record(LETTERED)),
  url: optional(
    'Record',
    record({
      scheme: required('String'),
      host: optional('String'),
      port: optional('Long'),
      path: optional('Record', record(LETTERED)),
    }),
  ),
} as const;

/** Forms of an argument that take time to work out are declared only where a condition needs them. */
const NEEDED = {
  present: [],
  oneOf: ['exact'],
  over: ['exact'],
  under: ['exact'],
  like: ['plain'],
  'path.under': ['path'],
  'path.part': ['path'],
  'path.name': ['name'],
  'url.scheme': ['url'],
  'url.host': ['url'],
  'url.port': ['url'],
  'url.under': ['url'],
  not: [],
  anyOf: [],
} as const satisfies Record<Condition['kind'], readonly (keyof typeof MEMBERS)[]>;

const membersFor = (condition: Condition): readonly (keyof typeof MEMBERS)[] =>
  condition.kind === 'like' && condition.ignoreCase === true ? ['plain', 'folded'] : NEEDED[condition.kind];

/** The types of the arguments that the rules look at. */
function valuesFor(rules: readonly Rule[]): object {
  const all = new Map<string, object>();
  const matches = rules.flatMap(({ match }) => matchesIn(match));
  for (const { path, conditions } of matches.flatMap(({ where = [] }) => where)) {
    const key = path.join('.');
    const members = conditionsIn(conditions)
      .flatMap(membersFor)
      .map((name) => [name, MEMBERS[name]] as const);
    all.set(key, { ...VALUE, ...all.get(key), ...Object.fromEntries(members) });
  }
  return Object.fromEntries([...all].map(([key, members]) => [key, optional('Record', record(members))]));
}

const LOCAL_TIME = { day: required('String'), minute: required('Long'), date: required('String') };

/** The time in each time zone that the rules look at. Nothing if they look at none, so that answers do not depend on the time. */
function timeFor(rules: readonly Rule[]): object {
  const zones = rules.flatMap(({ match }) => matchesIn(match)).flatMap(({ when }) => when?.timeZone ?? []);
  const members = Object.fromEntries(zones.map((zone) => [zone, required('Record', record(LOCAL_TIME))]));
  return zones.length === 0 ? {} : { [HOST_MEMBERS.time]: required('Record', record(members)) };
}

/**
 * Adds to a Cedar schema what rules read: the host's members in the context of the actions that rules are about. Actions that the schema
 * does not declare stay undeclared, so requests for them stay refused. Throws `InvalidPolicies`.
 *
 * @param isAlone Whether no hand-written policy looks at arguments. Then their types are free.
 */
export function schemaForRules(text: string, rules: readonly Rule[], isAlone: boolean): string {
  const read = schemaToJson(text);
  if (read.type === 'failure') throw new InvalidPolicies(cedarProblems(read.errors, { file: SCHEMA_FILE, text }));
  const { '': root, ...namespaces } = read.json;
  if (root === undefined) return text;
  const call = {
    server: optional('String'),
    effect: optional('String'),
    roles: required('Set', TEXTS),
    tool: required('String'),
  };
  const added = {
    [HOST_MEMBERS.call]: required('Record', record(call)),
    [HOST_MEMBERS.values]: required('Record', record(valuesFor(rules))),
    [HOST_MEMBERS.approved]: required('Set', TEXTS),
    ...timeFor(rules),
  };
  const actions = Object.fromEntries(
    Object.entries(root.actions).map(([name, action]) => [
      name,
      ACTIONS.some((one) => one === name) ? withMembers(name, action, { added, isAlone }) : action,
    ]),
  );
  const written = schemaToText({ ...namespaces, '': { ...root, actions } });
  if (written.type === 'failure')
    throw new InvalidPolicies(cedarProblems(written.errors, { file: SCHEMA_FILE, text: '' }));
  return written.text;
}

type Action = SchemaJson<string>[string]['actions'][string];

function withMembers(name: string, action: Action, { added, isAlone }: { added: object; isAlone: boolean }): Action {
  const context: { type?: unknown; attributes?: object } = action.appliesTo?.context ?? { type: 'Record' };
  if (context.type !== 'Record') {
    const message = `the context of "${name}" is a named type, to which rules cannot add their members. Write it as a record.`;
    throw new InvalidPolicies([{ file: SCHEMA_FILE, message }]);
  }
  const { arguments: typed, ...others } = (context.attributes ?? {}) as Record<string, unknown>;
  const time = withOwnZones(name, others[HOST_MEMBERS.time], (added as Record<string, unknown>)[HOST_MEMBERS.time]);
  const attributes = {
    ...others,
    ...(typed !== undefined && !isAlone && { arguments: typed }),
    ...added,
    ...(time !== undefined && { [HOST_MEMBERS.time]: time }),
  };
  return { ...action, appliesTo: { ...action.appliesTo, context: { type: 'Record', attributes } } } as Action;
}

/** The time zones that hand-written policies look at, and those of the rules. */
function withOwnZones(name: string, own: unknown, added: unknown): unknown {
  if (own === undefined || added === undefined) return own ?? added;
  const [mine, theirs] = [own, added] as { type?: unknown; attributes?: object }[];
  if (mine?.type !== 'Record') {
    const message = `the context of "${name}" declares time as another type than a record, which rules with when need. Rename it.`;
    throw new InvalidPolicies([{ file: SCHEMA_FILE, message }]);
  }
  return { ...mine, attributes: { ...theirs?.attributes, ...mine.attributes } };
}

import { schemaToJson, schemaToText, type SchemaJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { Rule } from '../../shared/rules/rules.ts';
import { cedarProblems, InvalidPolicies } from '../engine/cedar/problems.ts';
import { HOST_MEMBERS } from '../engine/cedar/facts.ts';
import { SCHEMA_FILE } from '../engine/cedar/schema.ts';

/** The actions that rules are about. */
const ACTIONS = ['tools/call', 'prompts/get', 'resources/read', 'completion/complete'] as const;

const required = (type: string, more: object = {}) => ({ type, required: true, ...more });
const optional = (type: string, more: object = {}) => ({ type, required: false, ...more });
const TEXTS = { element: { type: 'String' } };
const record = (attributes: object) => ({ attributes });

const VALUE = {
  text: optional('String'),
  climbs: required('Boolean'),
  lower: optional('Extension', { name: 'decimal' }),
  exact: required('Boolean'),
  truth: optional('Boolean'),
};

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
  const paths = rules.flatMap(({ match }) => (match.where ?? []).map(({ path }) => path.join('.')));
  const values = Object.fromEntries(paths.map((path) => [path, optional('Record', record(VALUE))]));
  const call = {
    server: optional('String'),
    effect: optional('String'),
    roles: required('Set', TEXTS),
    tool: required('String'),
  };
  const added = {
    [HOST_MEMBERS.call]: required('Record', record(call)),
    [HOST_MEMBERS.values]: required('Record', record(values)),
    [HOST_MEMBERS.approved]: required('Set', TEXTS),
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
  const attributes = { ...others, ...(typed !== undefined && !isAlone && { arguments: typed }), ...added };
  return { ...action, appliesTo: { ...action.appliesTo, context: { type: 'Record', attributes } } } as Action;
}

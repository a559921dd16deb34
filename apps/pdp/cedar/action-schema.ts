import { schemaToJson, type SchemaJson } from '@cedar-policy/cedar-wasm/nodejs';
import { cedarProblems, InvalidPolicies } from './problems.ts';
import { SCHEMA_FILE, type ActionShape } from './schema.ts';

/** The schema with one action and the groups that it is in: all that a request for that action is held against. */
export type ActionSchema = (action: ActionShape) => SchemaJson<string>;

/**
 * Cuts a schema by actions, since Cedar looks at the whole of it in each evaluation: with a thousand actions that takes
 * longer than the policies do. Throws `InvalidPolicies`.
 */
export function actionSchemas(text: string): ActionSchema {
  const answer = schemaToJson(text);
  if (answer.type === 'failure') throw new InvalidPolicies(cedarProblems(answer.errors, { file: SCHEMA_FILE, text }));
  // Requests name actions outside of namespaces alone.
  const { '': root, ...others } = answer.json;
  return ({ groups }) => {
    if (root === undefined) return others;
    const actions = Object.entries(root.actions).filter(([name]) => groups.has(name));
    return { ...others, '': { ...root, actions: Object.fromEntries(actions) } };
  };
}

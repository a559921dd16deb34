import { schemaToJson, type SchemaJson } from '@cedar-policy/cedar-wasm/nodejs';
import { cedarProblems, InvalidPolicies } from './problems.ts';
import { SCHEMA_FILE } from './schema.ts';

/** The schema with these actions alone. Every group that one of them is in has to be among them. */
export type ActionSchema = (names: ReadonlySet<string>) => SchemaJson<string>;

/**
 * Cuts a schema by actions, since Cedar looks at the whole of it in each evaluation, and at every action for each policy that it
 * validates: with a thousand actions that takes longer than the policies do. Throws `InvalidPolicies`.
 */
export function actionSchemas(text: string): ActionSchema {
  const answer = schemaToJson(text);
  if (answer.type === 'failure') throw new InvalidPolicies(cedarProblems(answer.errors, { file: SCHEMA_FILE, text }));
  // Requests name actions outside of namespaces alone.
  const { '': root, ...others } = answer.json;
  return (names) => {
    if (root === undefined) return others;
    const actions = Object.entries(root.actions).filter(([name]) => names.has(name));
    return { ...others, '': { ...root, actions: Object.fromEntries(actions) } };
  };
}

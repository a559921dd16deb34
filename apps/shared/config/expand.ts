import type { Problem } from './problems.ts';

const REFERENCE = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Replaces `${NAME}`, `${env:NAME}` and `${NAME:-default}` in every text value by the variable of that name, as MCP hosts do, and
 * reports the ones that are not set and have no default. Names of settings stay as they are.
 */
export function expandVariables(
  value: unknown,
  variables: Readonly<Record<string, string>>,
): { value: unknown; problems: Problem[] } {
  const problems: Problem[] = [];
  const expand = (node: unknown, path: readonly PropertyKey[]): unknown => {
    if (typeof node === 'string') {
      return node.replace(REFERENCE, (text, name: string, fallback: string | undefined) => {
        const found = variables[name] ?? fallback;
        if (found === undefined)
          problems.push({ path, message: `the variable ${name} is not set (\${${name}:-default} gives it a default)` });
        return found ?? text;
      });
    }
    if (Array.isArray(node)) return node.map((item, index) => expand(item, [...path, index]));
    if (typeof node !== 'object' || node === null) return node;
    return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, expand(item, [...path, key])]));
  };
  return { value: expand(value, []), problems };
}

import { type Node, type ParseError, parseTree } from 'jsonc-parser';
import { parse as parseToml } from 'smol-toml';
import { formatPath } from '../../../shared/config/problems.ts';
import { isTextPlace, yamlContent } from '../../../shared/config/yaml-content.ts';

/** What a host's file contains, or why it cannot be used. No message quotes the file, which may hold a secret. */
interface HostContent {
  readonly content?: unknown;
  readonly problem?: { readonly line?: number; readonly message: string };
}

/**
 * Reads the text of a host's file by its name: TOML, YAML, or JSON with comments. Arguments, variables and headers that are written as numbers
 * stay as they are written: a number of JSON would lose digits of an account.
 */
export function hostContent(file: string, text: string): HostContent {
  if (file.endsWith('.toml')) return tomlContent(text);
  if (/\.ya?ml$/.test(file)) return hostYaml(text);
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined && tree !== undefined) return { content: valueOf(tree, text, []) };
  const line = text.slice(0, first?.offset ?? 0).split('\n').length;
  return { problem: { line, message: 'it is not well-formed JSON; correct its syntax' } };
}

/** Numbers of TOML with a point are the only ones that lose what is written. The hosts that use TOML take texts there. */
function tomlContent(text: string): HostContent {
  try {
    return { content: withTexts(parseToml(text, { integersAsBigInt: true }), []) };
  } catch {
    return { problem: { message: 'it is not well-formed TOML; correct its syntax' } };
  }
}

function withTexts(value: unknown, path: readonly PropertyKey[]): unknown {
  if (typeof value === 'bigint') return isTextPlace(path) ? value.toString() : Number(value);
  if (typeof value === 'boolean' && isTextPlace(path)) return String(value);
  if (Array.isArray(value)) return value.map((one, index) => withTexts(one, [...path, index]));
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withTexts(one, [...path, name])]));
}

function hostYaml(text: string): HostContent {
  const { content, faults, problems, lineOf } = yamlContent(text);
  const [fault] = faults;
  if (fault !== undefined)
    return { problem: { line: fault.line, message: 'it is not well-formed YAML; correct its syntax' } };
  const [inexact] = problems;
  if (inexact === undefined) return { content };
  const line = lineOf(inexact.path);
  return {
    problem: { ...(line !== undefined && { line }), message: `${formatPath(inexact.path)}: ${inexact.message}` },
  };
}

function valueOf(node: Node, text: string, path: readonly PropertyKey[]): unknown {
  const { type, children = [], offset, length } = node;
  if (type === 'array') return children.map((one, index) => valueOf(one, text, [...path, index]));
  if (type === 'object') {
    return Object.fromEntries(
      children.flatMap(({ children: [key, value] = [] }) =>
        key === undefined || value === undefined
          ? []
          : [[String(key.value), valueOf(value, text, [...path, String(key.value)])] as const],
      ),
    );
  }
  const isWritten = type === 'number' || type === 'boolean';
  return isWritten && isTextPlace(path) ? text.slice(offset, offset + length) : (node.value as unknown);
}

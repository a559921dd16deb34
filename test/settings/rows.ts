import type { Node } from './editor-schema.ts';

/** One setting, as the table shows it. */
export interface Row {
  /** `gateway.coaz.serverId`; `<name>` stands for a key, `[]` for each element of a list. */
  readonly path: string;
  /** The allowed values: type, unit and range. */
  readonly value: string;
  readonly fallback: string;
  /** Empty when the schema has none. */
  readonly description: string;
}

/** The meaning of record keys, where they are not names. */
const KEYS: Readonly<Record<string, string>> = {
  tools: 'tool',
  requirements: 'text',
  outcomeProbes: 'tool',
  'obligations.notification': 'to',
};

/** Every setting below a node of the schema, in its order. Alternatives of a union are one list: a path appears once. */
export function rowsBelow(node: Node, path: string): Row[] {
  const rows = childrenOf(node, path).flatMap(([at, child, isRequired]) => [
    rowOf(child, at, isRequired),
    ...rowsBelow(child, at),
  ]);
  return [...new Map(rows.map((row) => [row.path, row])).values()];
}

/** The one setting itself. */
export const rowOf = (node: Node, path: string, isRequired: boolean): Row => ({
  path,
  value: valueOf(node),
  fallback: isRequired ? 'required' : fallbackOf(node, path),
  description: node.description ?? '',
});

/** A record or a list of plain values has no settings below it. */
function childrenOf(node: Node, path: string): [string, Node, boolean][] {
  if (isSecret(node)) return [];
  const own = Object.entries(node.properties ?? {}).map(([name, child]): [string, Node, boolean] => [
    path === '' ? name : `${path}.${name}`,
    child,
    node.required?.includes(name) ?? false,
  ]);
  const keyed = isNode(node.additionalProperties)
    ? childrenOf(node.additionalProperties, `${path}.<${keyOf(path)}>`)
    : [];
  const listed = node.items === undefined ? [] : childrenOf(node.items, `${path}[]`);
  return [...own, ...keyed, ...listed, ...(node.anyOf ?? []).flatMap((each) => childrenOf(each, path))];
}

const keyOf = (path: string) => KEYS[path] ?? 'name';
const isNode = (value: Node | boolean | undefined): value is Node => typeof value === 'object';

/** A text, or a file that contains it. */
const isSecret = ({ anyOf = [] }: Node) =>
  anyOf.some(({ properties = {} }) => Object.keys(properties).join() === 'file') &&
  anyOf.some(({ type }) => type === 'string');

/** Type and range, in words. */
function valueOf(node: Node): string {
  if (isSecret(node)) return 'text, or `{ file: <path> }`';
  if (node.const !== undefined) return code(node.const);
  if (node.enum !== undefined) return oneOf(node.enum.map(code));
  if (node.anyOf !== undefined) return oneOf([...new Set(node.anyOf.map(valueOf))]);
  if (Array.isArray(node.type)) return oneOf(node.type.map((type) => valueOf({ type })));
  switch (node.type) {
    case 'integer':
    case 'number':
      return `${node.type === 'integer' ? 'whole number' : 'number'}${rangeOf(node)}`;
    case 'boolean':
      return 'true or false';
    case 'string':
      return node.format === 'uri' ? 'address' : 'text';
    case 'array':
      return `list of ${plural(valueOf(node.items ?? {}))}`;
    case 'object':
      return isNode(node.additionalProperties) ? `map of ${plural(valueOf(node.additionalProperties))}` : 'object';
    case undefined:
    default:
      return 'any value';
  }
}

function rangeOf({ minimum, exclusiveMinimum, maximum = Number.MAX_SAFE_INTEGER }: Node): string {
  const least = minimum ?? (exclusiveMinimum === undefined ? undefined : exclusiveMinimum + 1);
  if (least === undefined) return '';
  return maximum === Number.MAX_SAFE_INTEGER ? `, at least ${least}` : `, ${least} to ${maximum}`;
}

const PLURALS: Readonly<Record<string, string>> = {
  text: 'texts',
  address: 'addresses',
  object: 'objects',
  'any value': 'values',
};
const plural = (value: string): string => PLURALS[value] ?? value.replace(/^whole number/, 'whole numbers');

const oneOf = (values: readonly string[]): string =>
  values.length < 2 ? values.join('') : `${values.slice(0, -1).join(', ')} or ${values.at(-1) ?? ''}`;
const code = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

function fallbackOf({ default: value }: Node, path: string): string {
  if (value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0))
    return '';
  if (Array.isArray(value))
    return value.every((each) => typeof each === 'string') ? value.map(code).join(', ') : 'see text';
  return `${code(value)}${typeof value === 'number' ? inWords(value, path) : ''}`;
}

const UNITS = [
  [86_400, 'day'],
  [3_600, 'hour'],
] as const;
const MEBIBYTE = 1024 * 1024;

/** ` (7 days)` behind a long duration, ` (4 MiB)` behind a large size. */
function inWords(value: number, path: string): string {
  if (path.endsWith('Bytes') && value >= MEBIBYTE) return ` (${value / MEBIBYTE} MiB)`;
  const unit = path.endsWith('Seconds') && value > 0 ? UNITS.find(([size]) => value % size === 0) : undefined;
  if (unit === undefined) return '';
  const count = value / unit[0];
  return ` (${count} ${unit[1]}${count === 1 ? '' : 's'})`;
}

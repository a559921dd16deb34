import {
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  type Pair,
  parse,
  parseDocument,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { CliError } from '../context.ts';
import { means } from './additions.ts';

/** The place of an entry: names of members, and positions in lists. */
export type EntryPath = readonly (string | number)[];

/**
 * Takes entries out of a YAML text. All other text stays exactly as it is, with comments. A collection that loses its last entry becomes an
 * empty one. Throws a `CliError` if the text has a form in which that cannot be done.
 */
export function withoutEntries(text: string, paths: readonly EntryPath[]): string {
  // From the last to the first, so that positions in lists stay right.
  const after = paths.toReversed().reduce(withoutEntry, text);
  const expected: unknown = parse(text);
  for (const path of paths.toReversed()) take(expected, path);
  if (means(after, expected)) return after;
  const sections = [...new Set(paths.map(([section]) => String(section)))].join(', ');
  throw new CliError(
    `the configuration has a form that cannot be edited here; write ${sections} as blocks, one entry a line`,
  );
}

function take(content: unknown, path: EntryPath): void {
  const last = path.at(-1);
  const step = (node: unknown, part: string | number) => (node as Readonly<Record<string | number, unknown>>)[part];
  const parent = path.slice(0, -1).reduce(step, content);
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else if (parent !== null && typeof parent === 'object') Reflect.deleteProperty(parent, String(last));
}

function withoutEntry(text: string, path: EntryPath): string {
  const document = parseDocument(text);
  const [last, ...before] = path.toReversed();
  const parent = document.getIn(before.toReversed());
  if (!isCollection(parent) || last === undefined) return text;
  const items = parent.items as readonly unknown[];
  const at = items.findIndex((item, index) => (isPair(item) ? nameOf(item) : index) === last);
  const [start, end] = [startOf(items[at]), endOf(items[at])];
  if (start === undefined || end === undefined || !parent.range) return text;
  if (parent.flow === true) return withoutFlowItem(text, { parent, at, start, end });
  const [first, past] = linesOf(text, isMap(parent) ? start : text.lastIndexOf('-', start - 1), end);
  const rest = `${text.slice(0, first)}${text.slice(past)}`;
  if (items.length > 1) return rest;
  const around = document.getIn(before.toReversed().slice(0, -1), true);
  const section = isMap(around) ? around.items.find(({ value }) => value === parent) : undefined;
  return emptied(rest, section, isMap(parent) ? '{}' : '[]');
}

/** The key of a section that is empty now gets brackets, so that it is not `null`. */
function emptied(text: string, section: Pair | undefined, brackets: string): string {
  const colon = text.indexOf(':', endOf(section?.key) ?? text.length) + 1;
  return `${text.slice(0, colon)} ${brackets}${text.slice(colon)}`;
}

interface Spot {
  readonly parent: YAMLMap | YAMLSeq;
  readonly at: number;
  readonly start: number;
  readonly end: number;
}

function withoutFlowItem(text: string, { parent, at, start, end }: Spot): string {
  const { items, range } = parent;
  const [next, previous] = [startOf(items[at + 1]), endOf(items[at - 1])];
  if (previous !== undefined) return `${text.slice(0, previous)}${text.slice(end)}`;
  if (next !== undefined) return `${text.slice(0, start)}${text.slice(next)}`;
  const [opened = 0, closed = 0] = range ?? [];
  return `${text.slice(0, opened + 1)}${text.slice(closed - 1)}`;
}

/** From the start of the first line to the end of the last one, with its comment. */
function linesOf(text: string, start: number, end: number): [first: number, past: number] {
  const past = text.indexOf('\n', text.slice(0, end).trimEnd().length);
  return [text.lastIndexOf('\n', start - 1) + 1, past === -1 ? text.length : past + 1];
}

const nameOf = ({ key }: Pair): unknown => (isScalar(key) ? String(key.value) : undefined);

function startOf(item: unknown): number | undefined {
  if (isPair(item)) return startOf(item.key);
  return isNode(item) ? item.range?.[0] : undefined;
}

/** The end of its last character. The range of a block also has the comments that follow it. */
function endOf(item: unknown): number | undefined {
  if (isPair(item)) return endOf(item.value) ?? endOf(item.key);
  if (isCollection(item) && item.flow !== true) return endOf(item.items.at(-1)) ?? item.range?.[1];
  return isNode(item) ? item.range?.[1] : undefined;
}

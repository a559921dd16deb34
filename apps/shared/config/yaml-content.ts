import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, Scalar } from 'yaml';
import type { SettingProblem } from './problems.ts';

/** The line of a text on which a setting begins, from 1. Undefined for a setting that is not in it. */
export type LineOf = (path: readonly PropertyKey[]) => number | undefined;

/** A YAML text as values. */
export interface YamlContent {
  readonly content: unknown;
  readonly lineOf: LineOf;
  /** What keeps the text from being read, each with its place. The content is undefined then. */
  readonly faults: readonly { readonly line: number; readonly column: number; readonly message: string }[];
  /** Numbers that cannot be kept as they are written. */
  readonly problems: readonly SettingProblem[];
}

/**
 * Reads a YAML text. Where a text is wanted, a number or another value without quotes stays as it is written: `0123`, `1.10` and
 * `1133012345678901234` are names of accounts more often than numbers. That is so for the arguments, variables and headers of servers, and for
 * names of settings. Everywhere else, a number that would become another one is a problem.
 */
export function yamlContent(text: string): YamlContent {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineOf: LineOf = (path) => {
    const start = startOf(document.contents, path);
    return start === undefined ? undefined : lines.linePos(start).line;
  };
  const faults = document.errors.map(({ pos: [at], message }) => {
    const { line, col: column } = lines.linePos(at);
    return { line, column, message: message.split('\n')[0] ?? '' };
  });
  if (faults.length > 0) return { content: undefined, lineOf, faults, problems: [] };
  const problems: SettingProblem[] = [];
  keepTexts(document, document.contents, { path: [], problems, seen: new Set() });
  const content = valuesOf(document);
  return content === undefined
    ? { content, lineOf, faults: [{ line: 1, column: 1, message: ENDLESS }], problems: [] }
    : { content: content.values, lineOf, faults, problems };
}

const ENDLESS = 'an anchor (&) names what it stands in, or anchors multiply too much: write the values out';

function valuesOf(document: Document): { readonly values: unknown } | undefined {
  try {
    const values: unknown = document.toJS();
    // Throws for what contains itself.
    JSON.stringify(values);
    return { values };
  } catch {
    return undefined;
  }
}

/** Members of a server in which every value is a text. */
const TEXT_MEMBERS: readonly PropertyKey[] = ['args', 'env', 'headers'];
/** Names under which the configuration and hosts keep their servers. */
const SERVER_SECTIONS: readonly PropertyKey[] = ['mcpServers', 'servers', 'context_servers', 'mcp_servers'];

/** Whether values at this path, such as `mcpServers.<name>.env.<variable>`, are texts. */
export const isTextPlace = (path: readonly PropertyKey[]): boolean =>
  path.some((part, at) => TEXT_MEMBERS.includes(part) && SERVER_SECTIONS.includes(path[at - 2] ?? ''));

interface Walk {
  readonly path: readonly PropertyKey[];
  readonly problems: SettingProblem[];
  /** Collections behind anchors whose values are texts already. An anchor can name a collection that it stands in. */
  readonly seen: Set<unknown>;
}

/** Replaces values by their texts, in place, and reports numbers that are not kept. */
function keepTexts(document: Document, node: unknown, walk: Walk): void {
  if (isMap(node)) {
    for (const pair of node.items) {
      if (isScalar(pair.key) && typeof pair.key.value !== 'string' && pair.key.source !== undefined)
        pair.key = asText(pair.key);
      const name = isScalar(pair.key) ? String(pair.key.value) : '';
      pair.value = kept(document, pair.value, { ...walk, path: [...walk.path, name] });
    }
  } else if (isSeq(node)) {
    for (const [index, item] of node.items.entries())
      node.items[index] = kept(document, item, { ...walk, path: [...walk.path, index] });
  }
}

function kept(document: Document, node: unknown, walk: Walk): unknown {
  const isText = isTextPlace(walk.path);
  const meant = isAlias(node) ? node.resolve(document) : node;
  if (!isScalar(meant)) {
    // What an anchor names is looked through where it stands, and in places where it has to be texts.
    if (meant === node || (isText && !walk.seen.has(meant))) {
      if (isText) walk.seen.add(meant);
      keepTexts(document, meant, walk);
    }
    return node;
  }
  const { value, source } = meant;
  if (source === undefined || typeof value === 'string' || value === null) return node;
  if (isText) return asText(meant);
  if (typeof value === 'number' && !isExact(value, source)) walk.problems.push({ path: walk.path, message: NOT_KEPT });
  return node;
}

const NOT_KEPT = 'it would become another number than the one that is written; put it in quotes, or write it plainly';

/** A new node, since other places can share the old one. */
function asText({ source, range }: Scalar): Scalar {
  const text = new Scalar(source);
  if (range) text.range = range;
  return text;
}

/** Whether a number of JSON is exactly what is written: no sign, zero or digit is lost. Zeros behind the point mean nothing. */
function isExact(value: number, source: string): boolean {
  const [, whole, fraction = '', exponent] = /^(-?(?:0|[1-9]\d*))(?:\.(\d+))?([eE][-+]?\d+)?$/.exec(source) ?? [];
  if (whole === undefined) return false;
  if (exponent !== undefined) return Number.isFinite(value);
  const digits = fraction.replace(/0+$/, '');
  const written = digits === '' ? whole : `${whole}.${digits}`;
  const read = Number.isInteger(value) ? BigInt(value).toString() : String(value);
  return read === written || (value === 0 && /^-?0$/.test(written));
}

/** Where a setting begins: its name, or the item of a list. */
function startOf(node: unknown, [first, ...rest]: readonly PropertyKey[], start?: number): number | undefined {
  if (first === undefined) return start;
  if (isMap(node)) {
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(first));
    return pair && startOf(pair.value, rest, isScalar(pair.key) ? pair.key.range?.[0] : start);
  }
  const item = isSeq(node) && typeof first === 'number' ? node.items[first] : undefined;
  return isNode(item) ? startOf(item, rest, item.range?.[0]) : undefined;
}

import { isDeepStrictEqual } from 'node:util';
import { type ParseError, parse as parseJson } from 'jsonc-parser';
import { parse as parseToml, stringify as stringifyToml } from 'smol-toml';
import { parse as parseYaml, parseDocument, stringify as stringifyYaml } from 'yaml';
import { isObject } from '../../../../workflows/domain/canonical-json.ts';
import { inserted } from '../../configuration/insertion.ts';
import { CliError } from '../../context.ts';
import type { Host } from './hosts.ts';
import { withMember } from './json-text.ts';

type Format = Host['format'];
type Entry = Readonly<Record<string, unknown>>;

/** A server in the file of a host. `path` is where it stands, its own name last. */
export interface Placed {
  readonly path: readonly string[];
  readonly entry: Entry;
}

/** What a text means. An empty one has no members. Throws a `CliError` without a word of the text, which may hold secrets. */
export function contentOf(format: Format, text: string, file: string): Readonly<Record<string, unknown>> {
  const content = parsed(format, text);
  if (content === undefined || content === null) return {};
  if (isObject(content)) return content;
  throw new CliError(
    `${file} cannot be read as ${format.toUpperCase()}; correct it, or use --print and paste the entry yourself`,
  );
}

function parsed(format: Format, text: string): unknown {
  try {
    if (format === 'toml') return parseToml(text);
    if (format === 'yaml') return parseYaml(text) as unknown;
    const errors: ParseError[] = [];
    const content: unknown = parseJson(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
    return errors.length === 0 ? content : false;
  } catch {
    return false;
  }
}

/** The text that a person would write for one server, alone in the file. */
export function snippet(format: Format, placed: Placed): string {
  if (format === 'toml') return tomlTable(placed).trimEnd();
  const nested = withEntry({}, placed);
  return format === 'yaml' ? stringifyYaml(nested, { lineWidth: 0 }).trimEnd() : JSON.stringify(nested, null, 2);
}

/** Puts the server into the text, in place of one with the same name. All else stays. Throws a `CliError` if that cannot be done. */
export function withServer(
  format: Format,
  text: string,
  { file, ...placed }: Placed & { readonly file: string },
): string {
  const before = contentOf(format, text, file);
  const after = EDITS[format](text, placed, before);
  const isRight = isDeepStrictEqual(plain(parsed(format, after)), plain(withEntry(before, placed)));
  if (isRight) return after;
  throw new CliError(`${file} has a form that cannot be edited here; use --print and paste the entry yourself`);
}

const EDITS: Readonly<Record<Format, (text: string, placed: Placed, before: Entry) => string>> = {
  json: (text, { path, entry }) => withMember(text, path, entry),
  toml: (text, placed) => {
    const kept = withoutTable(text, placed.path);
    const gap = kept === '' ? '' : kept.endsWith('\n') ? '\n' : '\n\n';
    return `${kept}${gap}${tomlTable(placed)}`;
  },
  yaml: (text, { path, entry }, before) => {
    const [section = '', name = ''] = path;
    const known = before[section];
    if (!isObject(known) || !Object.hasOwn(known, name)) return inserted(text, { section, entries: { [name]: entry } });
    const document = parseDocument(text);
    document.setIn(path, entry);
    return document.toString({ lineWidth: 0 });
  },
};

const tomlTable = (placed: Placed): string => `${stringifyToml(withEntry({}, placed)).trim()}\n`;

/** Without the table of this path and the tables below it: their lines, up to the next table. */
function withoutTable(text: string, path: readonly string[]): string {
  const own = path.join('.');
  let isOwn = false;
  const kept = text.split('\n').filter((line) => {
    const [, header] = /^\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$/.exec(line) ?? [];
    if (header !== undefined) {
      const name = header.replaceAll(/["'\s]/g, '');
      isOwn = name === own || name.startsWith(`${own}.`);
    }
    return !isOwn;
  });
  return kept.length === text.split('\n').length ? text : `${kept.join('\n').trimEnd()}\n`;
}

function withEntry(content: Entry, { path, entry }: Placed): Entry {
  const [first, ...rest] = path;
  if (first === undefined) return entry;
  const inner = content[first];
  return { ...content, [first]: withEntry(isObject(inner) ? inner : {}, { path: rest, entry }) };
}

/** Parsers differ in the prototypes of objects and in dates. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? {})) as unknown;

import { Document, isCollection, isMap, isScalar, parseDocument, type YAMLMap } from 'yaml';
import { json } from '../context.ts';
import { yamlText } from './yaml-text.ts';

/** Adds entries to one section of a YAML text: members of a map, or items of a list. */
export interface Insertion {
  readonly section: string;
  readonly entries: Readonly<Record<string, unknown>> | readonly unknown[];
  /** Stands above the entries where they have lines of their own. */
  readonly comment?: string;
  /** Whether the members of each entry stand in one line. */
  readonly isShort?: boolean;
}

/**
 * Adds entries at the end of a section, which is made if it is missing. All other text stays exactly as it is. A text that is one pair of
 * braces, as JSON, gets JSON.
 */
export function inserted(text: string, insertion: Insertion): string {
  const document = parseDocument(text);
  const { contents } = document;
  if (isMap(contents) && contents.flow === true) return insertedInBraces(text, contents, insertion);
  const value = isMap(contents) ? sectionIn(contents, text, insertion.section) : undefined;
  const step = indentationOf(text);
  if (value === undefined)
    return `${endedLine(text)}${text === '' ? '' : '\n'}${insertion.section}:\n${lines(insertion, step, step)}`;
  const [start, end] = value.range;
  if (value.kind === 'block') {
    const column = start - (text.lastIndexOf('\n', start - 1) + 1);
    return afterLine(text, text.slice(0, end).trimEnd().length, lines(insertion, column, step));
  }
  if (value.kind === 'flow')
    return insideBrackets(text, end, yamlText(new Document(insertion.entries), { collectionStyle: 'flow' }).trim());
  // Only the empty brackets go. A comment behind them stays.
  const kept = `${text.slice(0, start).trimEnd()}${text.slice(end)}`;
  return afterLine(kept, text.slice(0, start).trimEnd().length, lines(insertion, step, step));
}

function insertedInBraces(text: string, contents: YAMLMap, { section, entries }: Insertion): string {
  const value = sectionIn(contents, text, section);
  if (value === undefined)
    return insideBrackets(text, contents.range?.[1] ?? text.length, json({ [section]: entries }));
  const [start, end] = value.range;
  if (value.kind !== 'empty') return insideBrackets(text, end, json(entries));
  return `${text.slice(0, start).trimEnd()} ${json(entries)}${text.slice(end)}`;
}

interface Section {
  readonly kind: 'block' | 'flow' | 'empty';
  readonly range: readonly [start: number, end: number];
}

function sectionIn(contents: YAMLMap, text: string, name: string): Section | undefined {
  const pair = contents.items.find(({ key }) => isScalar(key) && key.value === name);
  if (pair === undefined) return undefined;
  const { value } = pair;
  const afterKey = isScalar(pair.key) ? (pair.key.range?.[1] ?? 0) : 0;
  const colon = text.indexOf(':', afterKey) + 1;
  if (!isCollection(value) || !value.range) return { kind: 'empty', range: [colon, emptyEnd(value, colon)] };
  const [start, end] = value.range;
  if (value.items.length === 0) return { kind: 'empty', range: [start, end] };
  return { kind: value.flow === true ? 'flow' : 'block', range: [start, end] };
}

/** The end of a written `null` or `~`. */
function emptyEnd(value: unknown, colon: number): number {
  return isScalar(value) && value.source !== undefined && value.source !== '' ? (value.range?.[1] ?? colon) : colon;
}

/** The entries as lines that end, each indented by `column`. */
function lines({ entries, comment, isShort }: Insertion, column: number, step: number): string {
  const document = new Document(entries);
  if (isShort === true && isMap(document.contents))
    for (const { value } of document.contents.items) if (isCollection(value)) value.flow = true;
  const written = yamlText(document, { indent: step });
  const all = `${comment === undefined ? '' : `# ${comment}\n`}${written}`;
  return all.replaceAll(/^(?=.)/gm, ' '.repeat(column));
}

function afterLine(text: string, offset: number, added: string): string {
  const end = text.indexOf('\n', offset);
  return end === -1 ? `${text}\n${added}` : `${text.slice(0, end + 1)}${added}${text.slice(end + 1)}`;
}

/** Adds the members of `written`, a text in brackets, before the bracket that ends there. */
function insideBrackets(text: string, end: number, written: string): string {
  const before = text.slice(0, end - 1);
  const kept = before.trimEnd();
  const comma = /[{[]$/.test(kept) ? '' : kept.endsWith(',') ? ' ' : ', ';
  return `${kept}${comma}${written.slice(1, -1).trim()}${before.slice(kept.length)}${text.slice(end - 1)}`;
}

const endedLine = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

/** How far the first indented line is indented. */
function indentationOf(text: string): number {
  const [, blanks = '  '] = /^[^\s#-][^\n]*:[ \t]*\n(?:[ \t]*(?:#[^\n]*)?\n)*( +)[^\s#-]/m.exec(text) ?? [];
  return blanks.length;
}

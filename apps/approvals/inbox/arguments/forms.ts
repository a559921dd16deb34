import { diffArrays, parsePatch } from 'diff';
import { isObject, jsonIn, type Json, type JsonObject } from '../../../../workflows/domain/canonical-json.ts';
import { binaryIn, type Binary } from './base64.ts';
import type { Pen } from './pen.ts';

/** A line of two texts: in both, only in the first (`-`), or only in the second (`+`). */
export interface ChangedLine {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

/** The members of an object that are the old and the new text of an edit, by name and text. */
export type Edit = readonly [old: readonly [string, string], added: readonly [string, string]];

/** The form in which a text is drawn. */
export type TextForm = 'quoted' | 'lines' | 'patch' | 'json' | Binary;

const EDITS = [
  ['oldText', 'newText'],
  ['old_string', 'new_string'],
  ['oldString', 'newString'],
  ['old_str', 'new_str'],
] as const;
/** More changed lines take too long to find. */
const MOST_CHANGES = 1_000;

/** An empty text has no line; any other has one more than it has line breaks. */
export const textLines = (text: string): string[] => (text === '' ? [] : text.split('\n'));

export function editIn(object: JsonObject): Edit | undefined {
  for (const [old, added] of EDITS) {
    const [before, after] = [object[old], object[added]];
    if (typeof before === 'string' && typeof after === 'string' && before !== after)
      return [
        [old, before],
        [added, after],
      ];
  }
  return undefined;
}

/** The lines of two texts; undefined if they differ in too many. Then they have to be drawn one after the other. */
export function compare([[, before], [, after]]: Edit, pen: Pen): readonly ChangedLine[] | undefined {
  const [from, to] = [textLines(before), textLines(after)];
  if (!pen.mayCompare(from.length + to.length)) return undefined;
  const changes = diffArrays(from, to, { maxEditLength: MOST_CHANGES });
  return changes?.flatMap(({ value, added, removed }) =>
    value.map((text) => ({ sign: added ? '+' : removed ? '-' : ' ', text }) as const),
  );
}

const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;
const HAS_HUNK = new RegExp(HUNK.source, 'm');
const COMPACT_JSON = /^(?:\{"|\[[^\]])/;

export function formOfText(text: string): TextForm {
  const binary = binaryIn(text);
  if (binary !== undefined) return binary;
  if (isCompactJson(text)) return 'json';
  if (!text.includes('\n')) return 'quoted';
  return isPatch(text) ? 'patch' : 'lines';
}

/** Whether a text is an object or a list as `JSON.stringify` writes it, without blanks: only then is its layout unambiguous. */
function isCompactJson(text: string): boolean {
  if (!COMPACT_JSON.test(text)) return false;
  try {
    return JSON.stringify(jsonIn(text)) === text;
  } catch {
    return false; // deeper than the stack
  }
}

/** Whether a text has the parts of a unified patch, as long as their heads say. */
function isPatch(text: string): boolean {
  if (!HAS_HUNK.test(text)) return false;
  try {
    return parsePatch(text).some(({ hunks }) => hunks.length > 0);
  } catch {
    return false;
  }
}

/** Whether a text looks like a patch and is none, for example because a head says another length. */
export const isBrokenPatch = (text: string): boolean => HAS_HUNK.test(text) && !isPatch(text);

/** What each line of a patch does: `head` for the head of a part, and undefined for a line outside of all parts. */
export function rolesInPatch(lines: readonly string[]): (ChangedLine['sign'] | 'head' | undefined)[] {
  let [before, after] = [0, 0];
  return lines.map((line) => {
    if (before > 0 || after > 0) {
      const sign = line.charAt(0);
      if (sign !== '+' && sign !== '\\') before -= 1;
      if (sign !== '-' && sign !== '\\') after -= 1;
      return sign === '+' || sign === '-' ? sign : ' ';
    }
    const head = HUNK.exec(line);
    if (head === null) return undefined;
    [before, after] = [Number(head[1] ?? 1), Number(head[2] ?? 1)];
    return 'head';
  });
}

const MOST_COLUMNS = 6;
const LONGEST_CELL = 200;

/** The names of the members of objects that a table can show: two or more, with the same members, and short values. */
export function columnsOf(list: readonly Json[]): readonly string[] | undefined {
  const [first] = list;
  if (list.length < 2 || !isObject(first)) return undefined;
  const columns = Object.keys(first).sort();
  if (columns.length === 0 || columns.length > MOST_COLUMNS) return undefined;
  const isRow = (row: Json) =>
    isObject(row) &&
    Object.keys(row).length === columns.length &&
    columns.every((name) => Object.hasOwn(row, name) && isCell(row[name])) &&
    editIn(row) === undefined;
  return list.every(isRow) ? columns : undefined;
}

const isCell = (value: Json | undefined): boolean =>
  typeof value === 'string' ? value.length <= LONGEST_CELL && formOfText(value) === 'quoted' : !isContainer(value);

export const isContainer = (value: Json | undefined): boolean => typeof value === 'object' && value !== null;

/** How many string values a value has. */
export function stringsIn(value: Json): number {
  if (typeof value === 'string') return 1;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, one: Json) => sum + stringsIn(one), 0);
}

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import { packagePath } from '../../apps/shared/config/files.ts';

/** `MUST°`: the source has no such word, but its sentence means it, or two parties have to agree on it. */
export const LEVELS = ['MUST', 'MUST°', 'SHOULD', 'MAY'] as const;
export type Level = (typeof LEVELS)[number];

/** One requirement, in our own words. */
export interface Row {
  readonly id: string;
  readonly level: Level;
  readonly statement: string;
}

/** Why no test proves these rows. */
export interface Gap {
  readonly reason: string;
  readonly rows: readonly string[];
}

const ID = '[A-Z]+(?:-[A-Z]+)?-\\d+';
const IDS = `\\[(${ID}(?:, ${ID})*)\\]`;
const rowForm = new RegExp(`^(${LEVELS.join('|')}) (\\S.*)$`);
const rowsFile = z.record(z.string().regex(new RegExp(`^${ID}$`)), z.string().regex(rowForm));
const gapsFile = z.array(
  z.strictObject({ reason: z.string().min(1), rows: z.array(z.string().regex(new RegExp(`^${ID}$`))).min(1) }),
);
const here = (...path: string[]) => packagePath('test', 'requirements', ...path);
const read = (file: string): unknown => parse(readFileSync(file, 'utf8'));

/** Every row, in the order of the files. */
export function readRows(): Row[] {
  return readdirSync(here('rows')).flatMap((file) =>
    Object.entries(rowsFile.parse(read(here('rows', file)))).map(([id, text]) => {
      const [, level, statement = ''] = rowForm.exec(text) ?? [];
      return { id, level: level as Level, statement };
    }),
  );
}

export const readGaps = (): Gap[] => gapsFile.parse(read(here('gaps.yaml')));

/** A title as the first argument of a call, with ids in brackets; skipped tests do not count. */
const TITLE = new RegExp(`(?<![.](?:skip|todo))\\(\\s*(['"\`])((?:(?!\\1).)*${IDS}(?:(?!\\1).)*)\\1`, 'g');

/** For each row, the tests whose title says that they prove it, as file and title. */
export function findProofs(): Map<string, string[]> {
  const proofs = new Map<string, string[]>();
  for (const file of readdirSync(packagePath('test'), { recursive: true, encoding: 'utf8' }).toSorted()) {
    if (!/[.](test|long)[.]tsx?$/.test(file)) continue;
    for (const [, , title = ''] of readFileSync(packagePath('test', file), 'utf8').matchAll(TITLE)) {
      const words = title.slice(0, title.indexOf('[')).trim();
      const ids = [...title.matchAll(new RegExp(IDS, 'g'))].flatMap(([, list = '']) => list.split(', '));
      for (const id of ids) proofs.set(id, [...(proofs.get(id) ?? []), `${join('test', file)}: ${words}`]);
    }
  }
  return proofs;
}

/** The faults of rows, gaps and titles, each as a sentence that names the row; empty when there are none. */
export function findFaults(rows = readRows(), gaps = readGaps(), proofs = findProofs()): string[] {
  const ids = new Set(rows.map(({ id }) => id));
  const known = gaps.flatMap((gap) => gap.rows);
  const twice = (list: readonly string[]) => list.filter((id, index) => list.indexOf(id) !== index);
  return [
    ...twice(rows.map(({ id }) => id)).map((id) => `${id} is listed twice in the rows: remove one`),
    ...twice(known).map((id) => `${id} is listed twice in gaps.yaml: remove one`),
    ...known.filter((id) => !ids.has(id)).map((id) => `${id} is in gaps.yaml but is not a row: correct or remove it`),
    ...[...proofs]
      .filter(([id]) => !ids.has(id))
      .map(([id, by]) => `${id} is in a title but is not a row: ${by.join('; ')}`),
    ...known
      .filter((id) => proofs.has(id))
      .map((id) => `${id} is proved, so remove it from gaps.yaml: ${proofs.get(id)?.join('; ')}`),
    ...rows
      .filter(({ id, level }) => level.startsWith('MUST') && !proofs.has(id) && !known.includes(id))
      .map(({ id, statement }) => `${id} is neither proved nor a known gap: ${statement}`),
  ];
}

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import { packagePath } from '../../apps/shared/config/package-root.ts';

/** `MUST°`: no such word stands in the source, but what it says is meant so. */
export const LEVELS = ['MUST', 'MUST°', 'SHOULD', 'MAY'] as const;
export type Level = (typeof LEVELS)[number];

/** One requirement of the MCP side, in our own words. */
export interface Row {
  readonly id: string;
  readonly level: Level;
  readonly statement: string;
}

/** Why rows are proved by no test. */
export interface Gap {
  readonly reason: string;
  readonly rows: readonly string[];
}

const ID = '[A-Z]+-\\d+';
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

/** A title, at the head of a list of arguments, with ids in brackets; not one of a test that is left out. */
const TITLE = new RegExp(
  `(?<![.](?:skip|todo))\\(\\s*(['"\`])((?:(?!\\1).)*\\[(${ID}(?:, ${ID})*)\\](?:(?!\\1).)*)\\1`,
  'g',
);

/** For each row the tests that say in their title that they prove it, each as file and title. */
export function findProofs(): Map<string, string[]> {
  const proofs = new Map<string, string[]>();
  for (const file of readdirSync(packagePath('test'), { recursive: true, encoding: 'utf8' }).toSorted()) {
    if (!/[.]test[.]tsx?$/.test(file)) continue;
    for (const [, , title = '', ids = ''] of readFileSync(packagePath('test', file), 'utf8').matchAll(TITLE)) {
      const words = title.slice(0, title.indexOf('[')).trim();
      for (const id of ids.split(', ')) proofs.set(id, [...(proofs.get(id) ?? []), `${join('test', file)}: ${words}`]);
    }
  }
  return proofs;
}

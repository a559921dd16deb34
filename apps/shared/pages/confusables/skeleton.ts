import { readFileSync } from 'node:fs';
import { packagePath } from '../../config/files.ts';

const ASCII = /^[\x20-\x7e]*$/;
const character = (hex: string) => String.fromCodePoint(Number.parseInt(hex, 16));

/** Unicode's table: a character, and its replacement in the skeleton of a text. */
const PROTOTYPES: ReadonlyMap<string, string> = new Map(
  readFileSync(packagePath('apps', 'shared', 'pages', 'confusables', 'table.txt'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [from = '', ...to] = line.split(' ').map(character);
      return [from, to.join('')];
    }),
);

/** UTS 39 section 4, without the removal of invisible characters: two texts with one skeleton look alike. */
export function skeleton(text: string): string {
  const mapped = Array.from(text.normalize('NFD'), (one) => PROTOTYPES.get(one) ?? one);
  return mapped.join('').normalize('NFD');
}

export const isAscii = (text: string): boolean => ASCII.test(text);

/** Whether a text beyond ASCII looks like an ASCII text. */
export const looksLikeAscii = (text: string): boolean => !isAscii(text) && isAscii(skeleton(text));

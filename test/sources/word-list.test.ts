import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { packagePath } from '../../apps/shared/config/files.ts';

/** Words in whose place a text names the person or thing that acts. In an identifier they may begin with a capital. */
const VAGUE = /whoever|whomever|whatever|somebody|nobody|thereof|wherein|\bof\s+whom\b|\bnone\s+of\b/gi;
const KINDS = /\.(?:ts|tsx|mjs|cjs|js|css|sql|prisma|md|ya?ml|cedar|cedarschema)$/;
const FOLDERS = ['apps', 'activities', 'workflows', 'prisma', 'policies', 'docs', 'test', '.'];
/** Made by programs, or written by others. */
const NOT_OURS = /^(?:prisma\/generated|test\/foreign|test\/sources\/word-list)/;
/** `nobody` is the name of a Unix user. */
const ALLOWED = new Map([['apps/shared/embedded/process-tools.ts', "'nobody'"]]);

const files = FOLDERS.flatMap((folder) =>
  readdirSync(packagePath(folder), { recursive: folder !== '.', withFileTypes: true })
    .filter((entry) => entry.isFile() && KINDS.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(packagePath('.').length).replace(/^\//, '')),
).filter((file) => !NOT_OURS.test(file));

it('finds the texts of the repository', () => {
  expect(files.length).toBeGreaterThan(1_000);
});

it('every text names the person or thing that acts', () => {
  const found = files.flatMap((file) => {
    const text = readFileSync(packagePath(file), 'utf8').replaceAll(ALLOWED.get(file) ?? '\0', '');
    return [...text.matchAll(VAGUE)].map(
      ({ index, 0: word }) => `${file}:${text.slice(0, index).split('\n').length} ${word}`,
    );
  });
  expect(found).toEqual([]);
});

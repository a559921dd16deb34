import { expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packagePath } from '../../apps/shared/config/package-root.ts';

const documents = ['.', 'policies', 'test'].flatMap((folder) =>
  readdirSync(packagePath(folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => [folder, name] as const),
);
const linksOf = (folder: string, name: string) =>
  [...readFileSync(packagePath(folder, name), 'utf8').matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, path]) => path);

it('the documents lead to many places', () => {
  expect(documents.flatMap(([folder, name]) => linksOf(folder, name)).length).toBeGreaterThan(50);
});

it.each(documents)('each link of %s/%s leads to something that is there', (folder, name) => {
  const dead = linksOf(folder, name).filter((path = '') => !existsSync(join(packagePath(folder), path)));
  expect(dead).toEqual([]);
});

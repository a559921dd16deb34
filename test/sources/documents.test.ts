import { expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ANNOTATIONS } from '../../apps/pdp/engine/cedar/policies.ts';
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

it.each(documents)(
  'each annotation of policies that %s/%s names is one that the decision point reads',
  (folder, name) => {
    const text = readFileSync(packagePath(folder, name), 'utf8');
    // Behind `@`, packages have a slash, and addresses something before it.
    const named = [...text.matchAll(/(?<=[`\s,])@([a-z_]+)(?![\w/-])/g)].map(([, annotation = '']) => annotation);
    expect(named.filter((annotation) => !ANNOTATIONS.has(annotation))).toEqual([]);
  },
);

it('the documents name every annotation of policies', () => {
  const text = readFileSync(packagePath('policies', 'README.md'), 'utf8');
  expect([...ANNOTATIONS].filter((annotation) => !text.includes(`@${annotation}`))).toEqual([]);
});

/** The rows of the tables below a heading of the list of faults. */
const rowsBelow = (heading: string): string[] => {
  const [, section = ''] = readFileSync(packagePath('test', 'FAULTS.md'), 'utf8').split(`\n## ${heading}\n`);
  const [, , ...rows] = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('|'));
  return rows;
};
const proofsIn = (row: string) =>
  [...row.matchAll(/\]\(([^)]+)\) “([^”]+)”/g)].map(([, file = '', title = '']) => ({ file, title }));

it('there is a list of what callers get for faults', () => {
  expect(rowsBelow('What the caller gets').length).toBeGreaterThan(20);
});

it.each(rowsBelow('What the caller gets'))('there is each test that is named for: %s', (row) => {
  const proofs = proofsIn(row);
  expect(proofs).not.toEqual([]);
  const missing = proofs.filter(({ file, title }) => {
    const path = packagePath('test', file);
    return !existsSync(path) || !readFileSync(path, 'utf8').includes(title);
  });
  expect(missing).toEqual([]);
});

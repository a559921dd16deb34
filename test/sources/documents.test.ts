import { expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ANNOTATIONS } from '../../apps/pdp/engine/cedar/policies.ts';
import { packagePath } from '../../apps/shared/config/files.ts';

const documents = ['.', 'docs', 'docs/issuers', 'policies', 'test'].flatMap((folder) =>
  readdirSync(packagePath(folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => [folder, name] as const),
);
const read = (folder: string, name: string) => readFileSync(packagePath(folder, name), 'utf8');
const linksOf = (folder: string, name: string) =>
  [...read(folder, name).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, path]) => path);
/** Links to a heading, with the file that should have it. */
const headingLinksOf = (folder: string, name: string) =>
  [...read(folder, name).matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)].map(([, path = '', heading = '']) => ({
    file: path === '' ? join(packagePath(folder), name) : join(packagePath(folder), path),
    heading,
  }));
/** Anchors as code hosts make them: letters, digits and dashes. */
const anchorsIn = (file: string) =>
  [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

it('the documents have many links', () => {
  expect(documents.flatMap(([folder, name]) => linksOf(folder, name)).length).toBeGreaterThan(50);
});

it.each(documents)('each link of %s/%s leads to an existing file', (folder, name) => {
  const dead = linksOf(folder, name).filter((path = '') => !existsSync(join(packagePath(folder), path)));
  expect(dead).toEqual([]);
});

it.each(documents)('each link of %s/%s to a heading leads to an existing one', (folder, name) => {
  const dead = headingLinksOf(folder, name).filter(({ file, heading }) => !anchorsIn(file).includes(heading));
  expect(dead).toEqual([]);
});

const pages = documents.flatMap(([folder, name]) => {
  if (folder === 'docs') return [name];
  return folder === 'docs/issuers' ? [`issuers/${name}`] : [];
});

it('the list of pages in docs/README.md names each page once', () => {
  const listed = linksOf('docs', 'README.md').filter((path = '') => !path.startsWith('..'));
  expect(listed.toSorted()).toEqual(pages.filter((name) => name !== 'README.md').toSorted());
});

it('the README has at most 150 lines, and says how to test', () => {
  const text = read('.', 'README.md');
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(150);
  expect(text).toContain('npm test');
});

it.each(readdirSync(packagePath('docs', 'pictures')))('docs/pictures/%s is 1280 pixels wide, and small', (name) => {
  const bytes = readFileSync(packagePath('docs', 'pictures', name));
  // The width follows the signature and the head of the first chunk.
  expect([bytes.toString('latin1', 1, 4), bytes.readUInt32BE(16)]).toEqual(['PNG', 1280]);
  expect(bytes.length).toBeLessThan(150 * 1024);
});

it.each(documents)('the decision point reads each annotation of policies that %s/%s names', (folder, name) => {
  const text = read(folder, name);
  // A slash follows `@` in packages, and a character precedes it in addresses.
  const named = [...text.matchAll(/(?<=[`\s,])@([a-z_]+)(?![\w/-])/g)].map(([, annotation = '']) => annotation);
  expect(named.filter((annotation) => !ANNOTATIONS.has(annotation))).toEqual([]);
});

it('the documents name every annotation of policies', () => {
  const text = read('policies', 'README.md');
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

it('the list of faults says what callers get', () => {
  expect(rowsBelow('What the caller gets').length).toBeGreaterThan(20);
});

it.each(rowsBelow('What the caller gets'))('each test exists that is named for: %s', (row) => {
  const proofs = proofsIn(row);
  expect(proofs).not.toEqual([]);
  const missing = proofs.filter(({ file, title }) => {
    const path = packagePath('test', file);
    return !existsSync(path) || !readFileSync(path, 'utf8').includes(title);
  });
  expect(missing).toEqual([]);
});

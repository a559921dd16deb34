import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { fingerprint } from '../../../apps/pdp/engine/cedar/policy-folder.ts';
import { permitting, PolicyFolder } from '../../support/policy-folder.ts';

let folder: PolicyFolder;
beforeEach(() => void (folder = new PolicyFolder()));
afterEach(() => folder.clear());

it.each<[string, (people: string) => void]>([
  ['a file is written', () => folder.write('a.cedar', permitting('bb'))],
  ['a file is replaced by one with the same text', () => folder.replace('a.cedar', permitting('a'))],
  ['a file is added', () => folder.write('b.cedar', '')],
  ['a file is deleted', () => rmSync(join(folder.path, 'a.cedar'))],
  ['the link names another folder with the same files', () => folder.pointTo(folder.make({}))],
  ['the folder is deleted', () => folder.pointTo('/does/not/exist')],
  ['the directory is written', () => void folder.beside('people.json', '[1]')],
  ['the directory is deleted', (people) => rmSync(people)],
])('the fingerprint changes when %s, and not otherwise', async (_what, change) => {
  const file = folder.beside('people.json', '[]');
  const places = { folder: folder.path, directory: { file, subjectAttribute: 'userName' } } as const;
  const before = await fingerprint(places);
  expect(await fingerprint(places)).toBe(before);
  change(file);
  expect(await fingerprint(places)).not.toBe(before);
});

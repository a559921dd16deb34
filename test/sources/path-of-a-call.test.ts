import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { packagePath } from '../../apps/shared/config/files.ts';
import { sourceFiles } from '../support/source-files.ts';

const MOST_FILES = 25;

const document = readFileSync(packagePath('ARCHITECTURE.md'), 'utf8');
const [, section = ''] = /\n## The path of a call\n(.*?)\n## /s.exec(document) ?? [];
/** The files of each step; a name may leave out the folders that the name before it has. */
const steps = new Map(
  [...section.matchAll(/^\| (\w[\w :]*?) +\| (.*?) +\|$/gm)].map(([, step = '', files = '']) => [
    step,
    [...files.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file = '']) => file),
  ]),
);
const STEPS = ['receive', 'read', 'find', 'bind', 'decide', 'forward'];
const sources = sourceFiles(['apps', 'activities', 'workflows']);
const foundFor = (name: string) => sources.filter((file) => file === name || file.endsWith(`/${name}`));

describe('the path of a call in ARCHITECTURE.md', () => {
  it(`has at most ${MOST_FILES} files, each once`, () => {
    const files = STEPS.flatMap((step) => steps.get(step) ?? []).flatMap(foundFor);
    expect(files.length).toBeGreaterThan(10);
    expect(files.length).toBeLessThanOrEqual(MOST_FILES);
    expect(new Set(files).size).toBe(files.length);
  });

  it.each([...steps].filter(([, files]) => files.length > 0))(
    'names files that exist, for the step: %s',
    (_step, files) => {
      expect(files.filter((name) => foundFor(name).length !== 1)).toEqual([]);
    },
  );
});

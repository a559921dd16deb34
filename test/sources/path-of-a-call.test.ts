import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { packagePath } from '../../apps/shared/config/files.ts';
import { sourceFiles } from '../support/source-files.ts';

const document = readFileSync(packagePath('ARCHITECTURE.md'), 'utf8');
const sources = sourceFiles(['apps', 'activities', 'workflows', 'prisma/functions'], /[.](tsx?|sql)$/);
const foundFor = (name: string) => sources.filter((file) => file === name || file.endsWith(`/${name}`));

/** The files of each step of a section; a name may leave out the folders that the name before it has. */
function stepsOf(heading: string): Map<string, string[]> {
  const [, section = ''] = document.split(`\n## ${heading}\n`);
  const [text = ''] = section.split('\n## ');
  const rows = [...text.matchAll(/^\| (\w[\w :]*?) +\| (.*?) +\|$/gm)];
  return new Map(
    rows.map(([, step = '', files = '']) => [
      step,
      [...files.matchAll(/`([\w/.-]+\.(?:tsx?|sql))`/g)].map(([, file = '']) => file),
    ]),
  );
}

const CALL = stepsOf('The path of a call');
const VOTE = stepsOf('The path from a vote to `tasks/get`');
const CALL_STEPS = ['receive', 'read', 'find', 'bind', 'decide', 'forward'];

describe.each([
  ['the path of a call', CALL, CALL_STEPS, 25],
  ['the path from a vote to `tasks/get`', VOTE, [...VOTE.keys()], 35],
] as const)('%s in ARCHITECTURE.md', (_path, steps, counted, most) => {
  it(`has at most ${most} files, each once`, () => {
    const files = counted.flatMap((step) => steps.get(step) ?? []).flatMap(foundFor);
    expect(files.length).toBeGreaterThan(10);
    expect(files.length).toBeLessThanOrEqual(most);
    expect(new Set(files).size).toBe(files.length);
  });

  it.each([...steps].filter(([, files]) => files.length > 0))(
    'names files that exist, for the step: %s',
    (_step, files) => {
      expect(files.filter((name) => foundFor(name).length !== 1)).toEqual([]);
    },
  );
});

import { readdirSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { packagePath } from '../../apps/shared/config/files.ts';
import { SECTIONS } from '../sections.mjs';

it('each file of tests at length is in a section of `npm run test:long`', () => {
  const commands = SECTIONS.map(({ run }) => run);
  const patterns = commands
    .filter((command) => command.includes('jest.long.config.mjs'))
    .flatMap((command) => command.filter((word) => word.startsWith('test/') && !word.endsWith('.mjs')))
    .map((pattern) => new RegExp(pattern));
  const files = readdirSync(packagePath('test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /[.]long[.]tsx?$/.test(file))
    .map((file) => `test/${file}`);
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => !patterns.some((pattern) => pattern.test(file)))).toEqual([]);
});

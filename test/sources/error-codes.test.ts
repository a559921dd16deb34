import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { packagePath } from '../../apps/shared/config/files.ts';
import { ERROR_FACTS, type ErrorCode } from '../../workflows/domain/errors.ts';
import { sourceFiles } from '../support/source-files.ts';

const CODES = Object.keys(ERROR_FACTS) as ErrorCode[];
/** These files name every code, and raise none. */
const OF_THE_LIST = ['workflows/domain/errors.ts', 'apps/gateway/wire/errors.ts'];
const sources = sourceFiles(['apps', 'activities', 'workflows']).filter((file) => !OF_THE_LIST.includes(file));
/** Without comments, and without the places that only check the code of a caught error. */
const raising = sources.map((file) =>
  readFileSync(packagePath(file), 'utf8')
    .replace(/\/\*.*?\*\/|(?<!:)\/\/[^\n]*/gs, '')
    .replace(/(?:[=!]==|\bcase)\s*'ERR_[A-Z_]+'/g, ''),
);

it.each(CODES)('the code raises %s, which the list of error codes has', (code) => {
  expect(raising.some((text) => text.includes(`'${code}'`))).toBe(true);
});

it('the list of error codes has every code that is raised', () => {
  const raised = raising.flatMap((text) =>
    [...text.matchAll(/CountersignError\(\s*'(ERR_[A-Z_]+)'/g)].map(([, code]) => code),
  );
  expect(raised.length).toBeGreaterThan(50);
  expect(raised.filter((code) => !CODES.includes(code as ErrorCode))).toEqual([]);
});

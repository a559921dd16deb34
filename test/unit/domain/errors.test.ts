import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { packagePath } from '../../../apps/shared/config/package-root.ts';
import { CountersignError, ERROR_FACTS, type ErrorCode } from '../../../workflows/domain/errors.ts';
import { sourceFiles } from '../../support/source-files.ts';

const CODES = Object.keys(ERROR_FACTS) as ErrorCode[];

describe('CountersignError', () => {
  it('says that exactly what is unavailable may be tried again', () => {
    expect(CODES.filter((code) => new CountersignError(code, 'a message').retryable)).toEqual(
      CODES.filter((code) => code.endsWith('_UNAVAILABLE')),
    );
  });

  it('keeps its code, its message and its cause', () => {
    const cause = new Error('socket closed');
    const error = new CountersignError('ERR_PDP_UNAVAILABLE', 'the PDP gave no answer', { cause });
    expect(error).toMatchObject({
      name: 'CountersignError',
      code: 'ERR_PDP_UNAVAILABLE',
      message: 'the PDP gave no answer',
      cause,
    });
    expect(error).toBeInstanceOf(Error);
  });
});

describe('the list of codes', () => {
  const OF_THE_LIST = ['workflows/domain/errors.ts', 'apps/gateway/wire/errors.ts'];
  const sources = sourceFiles(['apps', 'activities', 'workflows']).filter((file) => !OF_THE_LIST.includes(file));
  /** Without comments, and without the places that only look at the code of an error that came. */
  const raising = sources.map((file) =>
    readFileSync(packagePath(file), 'utf8')
      .replace(/\/\*.*?\*\/|(?<!:)\/\/[^\n]*/gs, '')
      .replace(/(?:[=!]==|\bcase)\s*'ERR_[A-Z_]+'/g, ''),
  );

  it.each(CODES)('has %s because there is code that raises it', (code) => {
    expect(raising.some((text) => text.includes(`'${code}'`))).toBe(true);
  });

  it('has every code that is raised', () => {
    const raised = raising.flatMap((text) =>
      [...text.matchAll(/CountersignError\(\s*'(ERR_[A-Z_]+)'/g)].map(([, code]) => code),
    );
    expect(raised.length).toBeGreaterThan(50);
    expect(raised.filter((code) => !CODES.includes(code as ErrorCode))).toEqual([]);
  });
});

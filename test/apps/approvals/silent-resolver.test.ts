import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { packagePath } from '../../../apps/shared/config/files.ts';

describe('a resolver that takes the question and does not answer', () => {
  it.each(['nothing', 'half an answer'])(
    'fails at the end of its time after it sent %s, also when memory is collected meanwhile',
    async (sent) => {
      const support = (name: string) => packagePath('test', 'support', name);
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [
          '--expose-gc',
          '--no-warnings',
          '--import',
          support('typescript.mjs'),
          support('start-silent-resolver.ts'),
          sent,
        ],
        // Well within the time after which the HTTP client gives up by itself.
        { timeout: 120_000 },
      );
      expect(JSON.parse(stdout)).toEqual(['failed', 'it did not answer', false]);
    },
  );
});

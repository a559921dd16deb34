import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { packagePath } from '../../../apps/shared/config/files.ts';

describe('a resolver that accepts the question and does not answer', () => {
  it.each(['nothing', 'half an answer'])(
    'fails after its time limit when it sent %s, also after a garbage collection',
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
        // Well within the HTTP client's own time limit.
        { timeout: 120_000 },
      );
      expect(JSON.parse(stdout)).toEqual(['failed', 'it did not answer', false]);
    },
  );
});

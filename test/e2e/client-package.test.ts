import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { packagePath } from '../../apps/shared/config/files.ts';

it('the client library is importable by its name, with its types', async () => {
  const { exports } = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as {
    exports: { './client': { types: string } };
  };
  expect(existsSync(packagePath(exports['./client'].types))).toBe(true);
  const script = "console.log(Object.keys(await import('countersign/client')).sort().join(' '))";
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: packagePath(),
  });
  expect(stdout.trim()).toBe(
    'Conversation SignatureError answersTo isBoundToFail isPreprocessor kindOfAnswer mayHaveRun mayRepeat readDenial readDisposition readSignature repetitionOf requirementsOf',
  );
});

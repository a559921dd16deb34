import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../../../', import.meta.url));

it('arguments are refused while the process can open no file, and checked afterwards', async () => {
  const program = ['--import', './test/support/typescript.mjs', './test/support/check-without-files.mjs'];
  const limited = ['-c', 'ulimit -n 128; exec "$@"', 'bash', process.execPath, ...program];
  const { stdout } = await promisify(execFile)('bash', limited, { cwd: root, env: { PATH: process.env['PATH'] } });
  expect(JSON.parse(stdout)).toEqual([
    { problem: 'they cannot be checked in time' },
    { problem: 'arguments/a must match pattern "^a$"' },
  ]);
});

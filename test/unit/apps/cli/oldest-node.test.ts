import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { checkNode } from '../../../../apps/cli/commands/doctor/machine.ts';
import { packagePath } from '../../../../apps/shared/config/files.ts';

it('finds a Node.js too old that is older than the package demands', () => {
  const { engines } = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as { engines: { node: string } };
  const [major = 0, minor = 0] = engines.node.replace('>=', '').split('.').map(Number);
  expect(checkNode(`v${major}.${minor}.0`).status).toBe('ok');
  expect(checkNode(`v${major}.${minor - 1}.9`).status).toBe('fail');
});

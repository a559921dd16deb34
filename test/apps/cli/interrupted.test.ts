import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { afterEach, expect, it } from '@jest/globals';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { isAlive } from '../../../apps/shared/embedded/process-tools.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Desk } from './run.ts';

let command: ChildProcess;
let programs: () => number[] = () => [];
afterEach(() => {
  command.kill('SIGKILL');
  for (const pid of programs().filter(isAlive)) process.kill(pid, 'SIGKILL');
});

it('a command that is interrupted ends its programs, even those that go on without their input', async () => {
  const program = { command: '/bin/sh', args: ['-c', 'echo > "runs-$$"; exec sleep 3600'] };
  const desk = new Desk({ mcpServers: { deaf: program } });
  programs = () => readdirSync(desk.folder).flatMap((name) => /^runs-(\d+)$/.exec(name)?.slice(1).map(Number) ?? []);
  command = spawn(process.execPath, [packagePath('dist', 'apps', 'cli', 'main.js'), 'lint'], {
    ...{ cwd: desk.folder, stdio: 'ignore' },
    env: { PATH: process.env['PATH'], COUNTERSIGN_STATE: desk.stateDir },
  });
  const ended = once(command, 'exit');
  await waitFor(() => programs().length > 0);
  command.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  await waitFor(() => !programs().some(isAlive));
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packagePath } from '../../apps/shared/config/files.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

const FILE_SERVER = packagePath('node_modules', '@modelcontextprotocol', 'server-filesystem', 'dist', 'index.js');
const run = promisify(execFile);

describe('the demonstration', () => {
  let stack!: Stack;
  beforeAll(async () => {
    // The folder in the example configuration: the state folder.
    const files = { command: process.execPath, args: [FILE_SERVER, '${COUNTERSIGN_STATE}/files'] };
    stack = await startStack({ parts: 'together', mcpServers: { files } });
  });
  afterAll(() => stack.stop());

  const start = (...args: string[]) =>
    run(process.execPath, [packagePath('dist', 'apps', 'cli', 'main.js'), 'demo', ...args], {
      cwd: stack.folder,
      env: { PATH: process.env['PATH'], COUNTERSIGN_STATE: stack.stateDir },
    });
  const demo = (...args: string[]) => start('--auto', ...args);

  it('explains three calls with their reasons, and ends with an auditor’s answers, in plain text', async () => {
    const { stdout, stderr } = await demo();
    expect(stderr).toBe('');
    expect(stdout).toMatch(/\(a\).*files__read_text_file[^]*Policy permits reading[^]*Welcome to Countersign/);
    expect(stdout).toMatch(
      /\(b\).*files__write_file[^]*a task instead of a result[^]*has not run[^]*The tool ran once/,
    );
    expect(stdout).toMatch(/\(c\).*files__move_file[^]*Policy forbids moving[^]*The tool did not run/);
    expect(stdout).toMatch(
      /Did it run\? +yes\.[^]*Which call\? +hmac-sha-256:[^]*Decided first\? +yes[^]*run twice\? +no\./,
    );
    expect(stdout).toMatch(/Called +20[^]*Approved +20[^]*Sent +20[^]*Ended +20/);
    expect(stdout).toContain(`${stack.config.urls.audit}/outcome-records/out_`);
    expect(stdout).toMatch(/countersign\.mjs audit show tsk_/);
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  it('prints the whole record for programs', async () => {
    const { stdout } = await demo('--json');
    expect(JSON.parse(stdout)).toMatchObject({
      disposition: 'approved-executed',
      sealIntact: true,
      record: { state: 'executed' },
      seal: { algorithm: 'sha-256' },
    });
  });

  it('waits for a person through a full restart', async () => {
    const waiting = start();
    let said = '';
    waiting.child.stdout?.on('data', (text: string) => (said += text));
    await waitFor(() => said.includes('Waiting for your decision'));
    stack.signal('up', 'SIGTERM');
    await waitFor(() => !stack.isRunning('up'));
    await stack.startPart('up');
    const [request] = await stack.openRequests(1);
    await stack.decide(request, { verdict: 'approve' });
    expect((await waiting).stdout).toMatch(/The answer \(completed\):[^]*The tool ran once, after approval/);
  });

  it('approves only its own call of the tool', async () => {
    const path = join(stack.stateDir, 'files', 'of-another-caller.txt');
    await stack.rpc(await stack.token('agent'), 'tools/call', {
      name: 'files__write_file',
      arguments: { path, content: 'x' },
    });
    const [other] = await stack.openRequests(1);
    await demo();
    expect(await stack.openRequests(1)).toEqual([other]);
    expect(existsSync(path)).toBe(false);
  });
});

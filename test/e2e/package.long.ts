import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packagePath } from '../../apps/shared/config/files.ts';
import { isAlive } from '../../apps/shared/embedded/process-tools.ts';
import { ownFolder } from '../support/test-run.ts';
import { waitFor } from '../support/wait-for.ts';

const run = promisify(execFile);
const folder = ownFolder('countersign-package-');
const home = join(folder, 'empty');
/** As a person has it: no variable of the test run, and the ports of the example. */
const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
const ADDRESSES = [4100, 4102, 4103].map((port) => `http://127.0.0.1:${port}`);

describe('the packed package, in an empty folder', () => {
  let tarball!: string;
  let up: ChildProcess | undefined;
  let ended: Promise<unknown> = Promise.reject(new Error('it did not start'));
  ended.catch(() => undefined);
  let [out, err] = ['', ''];
  const countersign = (...args: string[]) => run('npx', ['--yes', tarball, ...args], { cwd: home, env });

  beforeAll(async () => {
    mkdirSync(home);
    const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
    await run('npm', args, { cwd: packagePath(), maxBuffer: 16 * 1024 * 1024 });
    // As a specification of a package: npx takes a bare absolute path for a program.
    tarball = `file:${join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '')}`;
  });
  /** To npx and all that it started, as Ctrl-C in a terminal does. */
  const signal = (name: NodeJS.Signals) => {
    if (up?.pid !== undefined && isAlive(up.pid)) process.kill(-up.pid, name);
  };
  afterAll(() => signal('SIGKILL'));

  it('starts the example, says how to go on, and serves', async () => {
    const started = spawn('npx', ['--yes', tarball, 'up'], {
      ...{ cwd: home, env, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    up = started;
    started.stdout.on('data', (chunk) => (out += String(chunk)));
    started.stderr.on('data', (chunk) => (err += String(chunk)));
    ended = once(started, 'exit').then((how) => ({ ended: how }));
    const ready = waitFor(() => out.includes('Ctrl-C'), { timeoutMs: 540_000 });
    expect({ outcome: await Promise.race([ready, ended]), out, err }).toMatchObject({ outcome: true });
    for (const command of ['demo', 'add', 'connect']) expect(out).toContain(`npx ${tarball} ${command}`);
    for (const address of ADDRESSES) expect((await fetch(`${address}/healthz`)).ok).toBe(true);
    expect(existsSync(join(home, '.countersign', 'run.json'))).toBe(true);
  });

  it('holds a call, has it approved, and runs it', async () => {
    const { stdout } = await countersign('demo', '--auto');
    expect(stdout).toContain('The tool ran once, after approval');
  });

  it('stops at a signal, and leaves only its state folder', async () => {
    signal('SIGINT');
    await ended;
    await waitFor(() => err.includes('Stopped.'));
    expect(readdirSync(home)).toEqual(['.countersign']);
  });
});

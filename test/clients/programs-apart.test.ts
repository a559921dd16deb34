import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { isAlive } from '../../apps/shared/embedded/process-tools.ts';
import { packagePath } from '../../apps/shared/config/files.ts';
import { ownFolder } from '../support/test-run.ts';
import { waitFor } from '../support/wait-for.ts';

const SERVER = packagePath('test', 'clients', 'fixtures', 'crashing-server.mjs');
const RECORDING = packagePath('test', 'support', 'recording-upstream.mjs');
/** Each notes its process in the folder, as the recording upstream does. */
const HELPER = 'sleep 3600 & echo > "$0/runs-$!"; exec "$@"';
const DEAF = 'echo > "$0/runs-$$"; "$@"; exec sleep 3600';

let folder: string;
let run: { readonly child: ChildProcess; readonly lines: string[] };
beforeEach(() => {
  folder = realpathSync(ownFolder('programs-apart-'));
});
afterEach(async () => {
  if (run.child.exitCode === null && run.child.signalCode === null) {
    const gone = once(run.child, 'exit');
    run.child.kill('SIGKILL');
    await gone;
  }
  for (const pid of programs().filter(isAlive)) process.kill(pid, 'SIGKILL');
  rmSync(folder, { recursive: true });
});

const programs = () => readdirSync(folder).flatMap((name) => /^runs-(\d+)$/.exec(name)?.slice(1).map(Number) ?? []);
const programsHaveEnded = () => waitFor(() => !programs().some(isAlive));
function isCalled(): boolean {
  const journal = join(folder, 'calls.jsonl');
  return existsSync(journal) && readFileSync(journal, 'utf8').endsWith('\n');
}

/** Starts a process in a group of its own, as a terminal does, and has it call a program that does not answer yet. */
async function startCall(wrapper?: string): Promise<void> {
  writeFileSync(join(folder, 'hold'), '');
  const own = [process.execPath, RECORDING, folder, SERVER];
  const [command, ...args] = wrapper === undefined ? own : ['/bin/sh', '-c', wrapper, folder, ...own];
  const script = packagePath('test', 'support', 'call-a-program.mjs');
  const asked = [JSON.stringify({ command, args }), 'pid'];
  const child = spawn(process.execPath, [script, ...asked], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  run = { child, lines };
  await waitFor(isCalled);
}
const interrupt = () => process.kill(-(run.child.pid ?? Number.NaN), 'SIGINT');
const says = (line: string) => waitFor(() => run.lines.includes(line));

it('Ctrl-C of a terminal does not reach a program, whose call ends as it would have', async () => {
  await startCall();
  interrupt();
  await says('SIGINT');
  renameSync(join(folder, 'hold'), join(folder, 'go'));
  await says('closed');
  expect(run.lines).toEqual(['SIGINT', 'result', 'closed']);
  await programsHaveEnded();
});

it.each(['SIGHUP', 'SIGKILL'] as const)('a program ends when its caller is ended by %s', async (signal) => {
  await startCall();
  expect(programs().some(isAlive)).toBe(true);
  run.child.kill(signal);
  await programsHaveEnded();
});

it('a program whose caller exits ends, even if it goes on without its input', async () => {
  await startCall(DEAF);
  run.child.kill('SIGTERM');
  await programsHaveEnded();
});

it.each([
  ['goes on without its input', DEAF],
  ['leaves a helper behind', HELPER],
])('a program that %s ends whole when its connection is closed', async (_what, wrapper) => {
  await startCall(wrapper);
  renameSync(join(folder, 'hold'), join(folder, 'go'));
  await says('closed');
  await programsHaveEnded();
});

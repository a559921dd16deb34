// Runs a command on a machine that stands still: `node test/standstills.mjs --times 40 npm test`. At random moments it stops all
// processes of the command for up to ten seconds (SIGSTOP, SIGCONT), servers that left its process group included. Linux only.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { processesWith } from './support/run-folder.mjs';

const HELP = `Runs a command and stops all processes of it for up to ten seconds, at random moments.

  node test/standstills.mjs npm test                          every 15 seconds on average
  node test/standstills.mjs --every 5 --longest 3 npm test    other averages and lengths, in seconds

The exit code is that of the command.
`;
/** This variable is in the environment of the processes of the command, except where a program writes over its own. */
const MARK = 'COUNTERSIGN_STANDSTILLS';

const end = process.argv.findIndex((argument, index) => index > 1 && isCommand(argument, process.argv[index - 1]));
const { values } = parseArgs({
  args: process.argv.slice(2, end === -1 ? undefined : end),
  options: {
    every: { type: 'string', default: '15' },
    longest: { type: 'string', default: '10' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help || end === -1) {
  process.stdout.write(HELP);
  process.exitCode = values.help ? 0 : 1;
} else process.exitCode = await run(process.argv.slice(end));

/** The command begins with the first argument that is neither an option nor an option's value. */
function isCommand(argument, before) {
  return !argument.startsWith('-') && !(before.startsWith('--') && !before.includes('='));
}

async function run([program, ...args]) {
  const mark = randomUUID();
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, [MARK]: mark } });
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? signal));
  });
  let isRunning = true;
  void ended.finally(() => (isRunning = false));
  let times = 0;
  for (;;) {
    await Promise.race([ended, pause(Math.random() * 2_000 * Number(values.every))]);
    if (!isRunning) break;
    const running = withDescendants(processesWith(`${MARK}=${mark}`)).filter((pid) => !isStopped(pid));
    const stopped = running.filter((pid) => signal(pid, 'SIGSTOP'));
    await pause(Math.random() * 1_000 * Number(values.longest));
    for (const pid of stopped) signal(pid, 'SIGCONT');
    times += 1;
  }
  console.error(`The command stood still ${times} times.`);
  const code = await ended;
  return typeof code === 'number' ? code : 1;
}

/** Postgres and Temporal have an environment of their own, but not another parent. */
function withDescendants(pids) {
  const childrenOf = new Map();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const parent = Number(statOf(name)?.[1]);
    childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), Number(name)]);
  }
  const all = new Set(pids);
  for (const pid of all) for (const child of childrenOf.get(pid) ?? []) all.add(child);
  return [...all];
}

/** A process that the command itself has stopped stays so. */
function isStopped(pid) {
  return statOf(pid)?.[0] === 'T';
}

/** What Linux says of a process: its state, its parent, and more. */
function statOf(pid) {
  try {
    // The name before it is in brackets, and may contain anything.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ');
  } catch {
    return undefined;
  }
}

function signal(pid, name) {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

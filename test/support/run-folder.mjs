import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const PREFIX = 'countersign-test-';
/** A server ends at the first signal, and rolls back what is open. */
const STEPS = [
  ['SIGINT', 10_000],
  ['SIGKILL', 10_000],
];

/** The variable that tells each process of a run its folder. */
export const RUN_FOLDER = 'COUNTERSIGN_TEST_RUN';

/** Makes the folder in which the servers of one run live. */
export const makeRunFolder = () => mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));

/** Ends every process of the run, servers that left its process group included, and deletes its folder. */
export async function endRun(folder) {
  for (const [signal, withinMs] of STEPS) {
    const began = performance.now();
    for (let left = processesWith(folder); left.length > 0; left = processesWith(folder)) {
      if (performance.now() - began > withinMs) break;
      for (const pid of left) send(pid, signal);
      await pause(100);
    }
  }
  rmSync(folder, { recursive: true, force: true });
}

/** Ends the runs whose process was killed before it could end them. */
export async function endAbandonedRuns() {
  for (const name of readdirSync(tmpdir())) {
    const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length).split('-')[0]) : 0;
    if (pid > 0 && !send(pid, 0)) await endRun(join(tmpdir(), name));
  }
}

/** Other processes with the text in their command line, or in the environment that they started with where it can be read. */
export function processesWith(text) {
  const others = existsSync('/proc/self') ? fromProc() : fromPs();
  return others.filter(([pid, words]) => pid !== process.pid && words.includes(text)).map(([pid]) => pid);
}

function fromProc() {
  const read = (pid, file) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'utf8');
    } catch {
      return '';
    }
  };
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => [Number(pid), `${read(pid, 'cmdline')}\n${read(pid, 'environ')}`]);
}

function fromPs() {
  const lines = execFileSync('ps', ['-ax', '-ww', '-o', 'pid=,command='], { encoding: 'utf8' }).trim().split('\n');
  return lines.map((line) => [Number.parseInt(line, 10), line]);
}

function send(pid, signal) {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

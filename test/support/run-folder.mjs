import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
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

/**
 * Linux's file system in memory. Each test file has its own database, of three hundred files: on some file systems the
 * creation and deletion of so many take a fifth of the whole processor time.
 */
const IN_MEMORY = '/dev/shm';
const TMPFS = 0x01_02_19_94;
/** Postgres keeps up to 1 GiB of its write-ahead log, and a container often has 64 MiB. */
const NEEDED_BYTES = 4 * 2 ** 30;

/** Makes the folder in which the servers of one run live: in memory where there is enough, else with other temporary files. */
export const makeRunFolder = () => mkdtempSync(join(hasMemory() ? IN_MEMORY : tmpdir(), `${PREFIX}${process.pid}-`));

function hasMemory() {
  try {
    const { type, bavail, bsize } = statfsSync(IN_MEMORY);
    return type === TMPFS && bavail * bsize >= NEEDED_BYTES;
  } catch {
    return false;
  }
}

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
  for (const parent of [IN_MEMORY, tmpdir()].filter((folder) => existsSync(folder))) {
    for (const name of readdirSync(parent)) {
      const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length).split('-')[0]) : 0;
      if (pid > 0 && !send(pid, 0)) await endRun(join(parent, name));
    }
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

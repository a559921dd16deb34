import { spawn, type SpawnOptions, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  chownSync,
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { dirname } from 'node:path';
import { systemClock } from '../clock.ts';
import { errorCode } from '../lifecycle.ts';

/** Below the range of outgoing connections, which could take a port while its server restarts. */
const PORTS = { from: 20_000, to: 32_000 } as const;
const PORT_TRIES = 50;
const PREFERRED_MS = 3_000;

/** Two servers of a process never get one port, not even one after the other: clients keep connections of the first. */
const given = new Set<number>();

/**
 * A free TCP port of 127.0.0.1: the preferred one when it is free, or becomes free within seconds. Without a preference, a port that this
 * process did not get before.
 */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined) {
    const again = await until(() => tryPort(preferred).catch(() => undefined), { withinMs: PREFERRED_MS });
    if (again !== undefined) {
      given.add(again);
      return again;
    }
  }
  for (let tries = 0; tries < PORT_TRIES; tries += 1) {
    const wanted = randomInt(PORTS.from, PORTS.to);
    if (given.has(wanted)) continue;
    given.add(wanted);
    const port = await tryPort(wanted).catch(() => undefined);
    if (port !== undefined) return port;
  }
  return tryPort(0);
}

/** Resolves with the port if it is free; with any free port for 0. Rejects when the port is taken. */
export async function tryPort(wanted: number): Promise<number> {
  // Clients of a server that died reconnect to its port. An open connection would keep the port busy.
  const server = createServer((socket) => socket.destroy());
  await once(server.listen(wanted, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}

/** Whether a process has not ended. A zombie has ended once its last thread is gone: until then, it holds its ports and files. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
  if (process.platform !== 'linux') return true;
  try {
    const threads = readdirSync(`/proc/${pid}/task`).length;
    return threads > 1 || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Whether the process has `text` among its arguments. A pid from a file is no proof, because systems reuse pids, above all in containers. */
export const runsWith = (pid: number, text: string): boolean => isAlive(pid) && commandLine(pid).includes(text);

function commandLine(pid: number): string {
  if (process.platform === 'linux') {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    } catch {
      return '';
    }
  }
  return spawnSync('/bin/ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? '';
}

/** The largest part of the limit that one attempt uses up, because the machine may stand still during it. */
const LARGEST_PART = 1 / 4;

/**
 * Repeats `ask` every `everyMs` until its result is not `undefined`, for at most `withinMs`. The time from one attempt to the next counts as
 * at most a fourth of that.
 */
export async function until<T>(
  ask: () => Promise<T | undefined> | T | undefined,
  { withinMs, everyMs = 25 }: { withinMs: number; everyMs?: number },
): Promise<T | undefined> {
  let leftMs = withinMs;
  for (let since = systemClock.monotonicMs(); ;) {
    const answer = await ask();
    if (answer !== undefined || leftMs < 0) return answer;
    await systemClock.after(everyMs);
    const now = systemClock.monotonicMs();
    leftMs -= Math.min(now - since, withinMs * LARGEST_PART);
    since = now;
  }
}

/** Sends a process of ours one signal after the other until it ends. Each step is a signal and the time to wait for its effect. */
export async function endProcess(
  pid: number,
  hasEnded: () => boolean,
  steps: readonly (readonly [signal: NodeJS.Signals, waitMs: number])[],
): Promise<void> {
  for (const [signal, withinMs] of steps) {
    if (hasEnded()) return;
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    if ((await until(() => (hasEnded() ? true : undefined), { withinMs, everyMs: 10 })) === true) return;
  }
  throw new Error(`process ${pid} does not end`);
}

interface ServerProcess extends SpawnOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
}

/** Starts a server that may outlive this process, with its output in `logFile`. */
export function spawnServer({ command, args, logFile, ...options }: ServerProcess) {
  const log = openSync(logFile, 'w', 0o600);
  // A process group of its own: Ctrl-C in a terminal must reach us first, so that we can drain before the server stops.
  const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  let hasEnded = false;
  for (const event of ['error', 'exit']) child.once(event, () => (hasEnded = true));
  child.unref();
  return {
    pid: child.pid,
    hasEnded: () => hasEnded,
    problem: () => lastLines(readFileSync(logFile, 'utf8')) || 'did not start',
  };
}

export const lastLines = (text: string): string => text.trim().split('\n').slice(-3).join(' | ');

/** How often a process that waits for a lock says so. */
const REPORT_WAIT_MS = 15_000;

/**
 * Runs `work` while no other process of this machine holds the lock file. Its pid reveals a holder that was killed, whose lock goes by itself. Waits
 * at most `withinMs` for a living holder. Throws an error that names that process.
 *
 * @param onWait Called now and then while it waits, with the process that holds the lock and the seconds so far.
 */
export async function withStartLock<T>(
  file: string,
  work: () => Promise<T>,
  withinMs = 600_000,
  onWait?: (holder: number, seconds: number) => void,
): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  const began = systemClock.monotonicMs();
  const report = () => onWait?.(holderOf(file), Math.round((systemClock.monotonicMs() - began) / 1_000));
  // A lock of a process that was killed goes at the first attempt.
  const isTaken = take(file) || take(file);
  if (!isTaken) report();
  const stopReporting = isTaken ? () => undefined : systemClock.every(REPORT_WAIT_MS, report);
  const look = () => (isTaken || take(file) ? true : undefined);
  const taken = await until(look, { withinMs, everyMs: 50 }).finally(stopReporting);
  if (taken !== true) throw new LockHeld(file, holderOf(file));
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** Another process holds a lock, and lives. */
export class LockHeld extends Error {
  readonly holder: number;

  constructor(file: string, holder: number) {
    super(`process ${holder} holds ${file}; wait until it is done, and start again`);
    this.holder = holder;
  }
}

/** The process that holds a lock. 0 once it has released it. */
function holderOf(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch {
    return 0;
  }
}

/** The lock file appears with its holder's pid in one step, so no process can see it empty. */
function take(file: string): boolean {
  const mine = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  writeFileSync(mine, String(process.pid));
  try {
    linkSync(mine, file);
    return true;
  } catch {
    removeIfAbandoned(file);
    return false;
  } finally {
    rmSync(mine, { force: true });
  }
}

function removeIfAbandoned(file: string): void {
  try {
    const holder = Number(readFileSync(file, 'utf8'));
    if (holder !== process.pid && !isAlive(holder)) rmSync(file, { force: true });
  } catch {
    // The holder has just released it.
  }
}

/** A way to run a program that refuses to run as root. */
export interface Launch {
  /** For people. */
  readonly how: string;
  /** The command line that runs `command`. The started process becomes `command`, and so has its pid. */
  wrap(command: string, args: string[]): { command: string; args: string[] };
  readonly identity: { uid?: number; gid?: number };
  /** Gives a file or folder to the user of the program. */
  own(path: string): void;
}

/** The user id that Linux maps unknown users to. */
const OVERFLOW_ID = 65_534;

/**
 * Ways to run PostgreSQL's programs, best first. An ordinary user runs them directly. For root, a user namespace keeps the files root's
 * own, and works below folders that only root may enter. Where namespaces are forbidden, an existing unprivileged user takes over. No user
 * is ever created.
 */
export function launches(searchPath: string): Launch[] {
  const plain = (command: string, args: string[]) => ({ command, args });
  if (process.getuid?.() !== 0) return [{ how: 'directly', wrap: plain, identity: {}, own: () => undefined }];
  const namespace: Launch = {
    how: 'in a user namespace',
    wrap: (command, args) => ({
      command: 'unshare',
      args: ['--user', `--map-user=${OVERFLOW_ID}`, `--map-group=${OVERFLOW_ID}`, '--', command, ...args],
    }),
    identity: {},
    own: () => undefined,
  };
  const users = ['postgres', 'nobody'].flatMap((name): Launch[] => {
    const uid = idOf(name, '-u', searchPath);
    const gid = idOf(name, '-g', searchPath);
    if (uid === undefined || gid === undefined) return [];
    return [{ how: `as user ${name}`, wrap: plain, identity: { uid, gid }, own: (path) => chownSync(path, uid, gid) }];
  });
  return [namespace, ...users];
}

function idOf(user: string, flag: '-u' | '-g', searchPath: string): number | undefined {
  const answer = spawnSync('id', [flag, user], { encoding: 'utf8', env: { PATH: searchPath } });
  return answer.status === 0 ? Number(answer.stdout) : undefined;
}

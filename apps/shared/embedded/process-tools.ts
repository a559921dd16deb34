import { type ChildProcess, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { chownSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { systemClock } from '../clock.ts';
import { errorCode } from '../lifecycle.ts';

/** Below the ports that systems give to outgoing connections, one of which could take a port while its server restarts. */
const PORTS = { from: 20_000, to: 32_000 } as const;
const PORT_TRIES = 50;
const PREFERRED_MS = 3_000;

/** A TCP port of 127.0.0.1 that nobody listens on: the preferred one when it is free, or becomes free within seconds. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined) {
    const again = await until(() => tryPort(preferred).catch(() => undefined), { withinMs: PREFERRED_MS });
    if (again !== undefined) return again;
  }
  let wanted = randomInt(PORTS.from, PORTS.to);
  for (let tries = 0; tries < PORT_TRIES; tries += 1) {
    const port = await tryPort(wanted).catch(() => undefined);
    if (port !== undefined) return port;
    wanted = randomInt(PORTS.from, PORTS.to);
  }
  return tryPort(0);
}

function tryPort(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    // Clients of a server that died knock at its port; one that is let in would keep the port from becoming free.
    const server = createServer((knocking) => knocking.destroy());
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        address !== null && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}

/**
 * Whether a process has not ended. One that ended and waits for its parent to notice (a zombie) has, once its last
 * thread is gone: until then it holds its ports and files.
 */
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

/**
 * Whether this process was started with `text` among its arguments. Process ids are used again, after a reboot and
 * above all in containers: a pid from a file proves nothing alone.
 */
export function runsWith(pid: number, text: string): boolean {
  return isAlive(pid) && commandLine(pid).includes(text);
}

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

/** Of its limit, so much is held against whoever is asked for one question. A machine may stand still during it. */
const LARGEST_PART = 1 / 4;

/**
 * Asks again every `everyMs` until the answer is not `undefined`, at most `withinMs` long, of which time that passes from one
 * question to the next counts a fourth at most.
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

/** Signals a process of ours in growing earnest until it is gone. Each step is a signal and how long to wait for it. */
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

/** Lets the child outlive this process and not hold it, and tells when it has ended. */
export function watchExit(child: ChildProcess): () => boolean {
  let ended = false;
  const end = () => {
    ended = true;
  };
  child.once('error', end);
  child.once('exit', end);
  child.unref();
  return () => ended;
}

/**
 * Runs `work` while no other process of this machine does so under the same file. A holder that was killed is found
 * out by its pid. Waits as long as a living holder needs, at most `withinMs`.
 */
export async function withStartLock<T>(file: string, work: () => Promise<T>, withinMs = 600_000): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  const taken = await until(() => (take(file) ? true : undefined), { withinMs, everyMs: 50 });
  if (taken !== true) throw new Error(`another process holds ${file}; if none is starting, delete the file`);
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** The lock appears with its holder's pid in it, in one step: nobody can see it empty. */
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
    // Just released.
  }
}

/** A way to run a program that refuses to run as root. */
export interface Launch {
  /** For people. */
  readonly how: string;
  /** The command line that runs `command`. The started process becomes `command`, so its pid is the program's. */
  wrap(command: string, args: string[]): { command: string; args: string[] };
  readonly identity: { uid?: number; gid?: number };
  /** Gives a file or folder to whom the program runs as. */
  own(path: string): void;
}

const NOBODY = 65_534;

/**
 * Ways to run PostgreSQL's programs, best first. For an ordinary user that is simply to run them. For root, a user
 * namespace keeps the files root's own and works below folders only root may enter; where that is forbidden, an
 * existing unprivileged user takes over. No user is ever created.
 */
export function launches(searchPath: string): Launch[] {
  const plain = (command: string, args: string[]) => ({ command, args });
  if (process.getuid?.() !== 0) return [{ how: 'directly', wrap: plain, identity: {}, own: () => undefined }];
  const namespace: Launch = {
    how: 'in a user namespace',
    wrap: (command, args) => ({
      command: 'unshare',
      args: ['--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--', command, ...args],
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

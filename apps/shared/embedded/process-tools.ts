import { spawnSync, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { systemClock } from '../clock.ts';
import { errorCode } from '../error-code.ts';

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

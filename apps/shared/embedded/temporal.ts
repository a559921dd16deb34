import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Connection } from '@temporalio/client';
import * as z from 'zod';
import { systemClock } from '../clock.ts';
import { endProcess, freePort, isAlive, runsWith, spawnServer, until, withStartLock } from './process-tools.ts';
import { findTemporalProgram, type TemporalProgramOptions } from './temporal-program.ts';

export interface TemporalOptions extends Omit<TemporalProgramOptions, 'tried'> {
  /** An existing cluster. Then no server is started or stopped. */
  readonly address?: string | undefined;
  /** Folder for the history and the log of the embedded server. */
  readonly stateDir: string;
  /** Created when it does not exist. Default: `default`. */
  readonly namespace?: string;
}

export interface TemporalServer {
  /** `host:port` of the frontend. */
  readonly address: string;
  /** For people: the origin of the server. */
  readonly how: string;
  /** Ends the server, unless it came from `address`, and waits for its end. */
  stop(): Promise<void>;
}

const READY_MS = 60_000;
const ADOPT_MS = 10_000;
const SHUTDOWN = [
  ['SIGTERM', 3_000],
  ['SIGKILL', 5_000],
] as const;
/** With the default of 20, every step of a workflow waits up to 50 ms. */
const TUNING = 'history.transferProcessorMaxPollRPS=1000';

/**
 * With a write-ahead log, a commit is one write, and not a journal file that is created, flushed and removed. The log is flushed only at
 * checkpoints: if a power failure undoes workflows, the reconciler restarts them from the rows in Postgres. The cache is 64 MiB; the
 * default is 2.
 */
const SQLITE = ['journal_mode=WAL', 'synchronous=NORMAL', 'cache_size=-65536'];

/** Go's collector lets the heap grow to five times the live data, not twice, because processor time is scarcer than memory. */
const GOGC = '400';

const serverFile = z.object({ pid: z.number().int().positive(), port: z.number().int().positive() });

/**
 * Finds or starts Temporal. The order is: `address`, the server that already runs on our state folder, a server that the `temporal` program
 * runs (`findTemporalProgram`). Resolves when the namespace answers. Throws an error that lists all attempts.
 */
export async function findOrStartTemporal(options: TemporalOptions): Promise<TemporalServer> {
  if (options.address !== undefined && options.address !== '') {
    return { address: options.address, how: 'TEMPORAL_ADDRESS', stop: async () => undefined };
  }
  const home = resolve(options.stateDir, 'temporal');
  return withStartLock(join(home, 'start.lock'), async () => {
    const running = await adoptTemporal(options.stateDir, options.namespace);
    return running ?? startTemporal(home, options);
  });
}

/** The server that already runs on the state folder, started by another process or by one that was killed. */
export async function adoptTemporal(stateDir: string, namespace = 'default'): Promise<TemporalServer | undefined> {
  const home = resolve(stateDir, 'temporal');
  const found = lastServer(home);
  if (found === undefined || !runsWith(found.pid, join(home, 'temporal.db'))) return undefined;
  const { pid, port } = found;
  const hasEnded = () => !isAlive(pid);
  const address = `127.0.0.1:${port}`;
  const stop = () => endProcess(pid, hasEnded, SHUTDOWN);
  if (await namespaceAnswers(address, { namespace, hasEnded, withinMs: ADOPT_MS })) {
    return { address, how: `already running (pid ${pid})`, stop };
  }
  // It does not work, and a second server cannot use the same history.
  await stop();
  return undefined;
}

async function startTemporal(home: string, options: TemporalOptions): Promise<TemporalServer> {
  mkdirSync(home, { recursive: true });
  const tried = ['TEMPORAL_ADDRESS: not set', `server of ${home}: none running`];
  const program = await findTemporalProgram({ ...options, tried });
  const namespace = options.namespace ?? 'default';
  // Another process can take a free port before the server listens on it.
  for (let attempt = 1; program !== undefined && attempt <= 3; attempt += 1) {
    const server = await runServer(home, program.path, namespace);
    if (typeof server !== 'string') return { ...server, how: program.how };
    tried.push(`${program.how} (${program.path}): ${server}`);
    if (!/address already in use|can't set frontend port/i.test(server)) break;
  }
  throw new Error(
    'no Temporal could be found or started. Set TEMPORAL_ADDRESS to a Temporal frontend (host:port), ' +
      'install the Temporal CLI (https://docs.temporal.io/cli), or fix one of these:\n' +
      tried.map((line) => `  - ${line}`).join('\n'),
  );
}

async function runServer(
  home: string,
  program: string,
  namespace: string,
): Promise<Omit<TemporalServer, 'how'> | string> {
  // The previous port, so that workers and clients of a server that died find the new one.
  const port = await freePort(lastServer(home)?.port);
  const args = ['server', 'start-dev', '--headless', '--ip', '127.0.0.1', '--port', String(port)];
  args.push('--db-filename', join(home, 'temporal.db'), '--namespace', namespace, '--dynamic-config-value', TUNING);
  args.push(...SQLITE.flatMap((pragma) => ['--sqlite-pragma', pragma]));
  const logFile = join(home, 'temporal.log');
  const { pid, hasEnded, problem } = spawnServer({
    ...{ command: program, args, logFile, cwd: home },
    env: { HOME: home, GOGC },
  });
  if (pid === undefined) return 'cannot be run';
  const file = join(home, 'server.json');
  writeFileSync(`${file}.new`, JSON.stringify({ pid, port }), { mode: 0o600 });
  renameSync(`${file}.new`, file);
  const stop = async () => {
    await endProcess(pid, hasEnded, SHUTDOWN);
    rmSync(file, { force: true });
  };
  const address = `127.0.0.1:${port}`;
  if (await namespaceAnswers(address, { namespace, hasEnded, withinMs: READY_MS })) return { address, stop };
  await stop();
  return problem();
}

/** Waits until the namespace takes workflows and can be searched. */
async function namespaceAnswers(
  address: string,
  { namespace, hasEnded, withinMs }: { namespace: string; hasEnded: () => boolean; withinMs: number },
): Promise<boolean> {
  const ask = async () => (hasEnded() ? false : (await tryNamespace(address, namespace)) || undefined);
  return (await until(ask, { withinMs })) === true;
}

async function tryNamespace(address: string, namespace: string): Promise<boolean> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: 2_000 });
    const { workflowService } = connection;
    await connection.withDeadline(systemClock.now() + 2_000, async () => {
      await workflowService.describeNamespace({ namespace });
      await workflowService.countWorkflowExecutions({ namespace });
    });
    return true;
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}

function lastServer(home: string): z.infer<typeof serverFile> | undefined {
  try {
    return serverFile.parse(JSON.parse(readFileSync(join(home, 'server.json'), 'utf8')));
  } catch {
    return undefined;
  }
}

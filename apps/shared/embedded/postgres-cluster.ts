import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { withClient } from '../database/client.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import {
  endProcess,
  freePort,
  isAlive,
  lastLines,
  type Launch,
  runsWith,
  spawnServer,
  until,
} from './process-tools.ts';

export type ClusterPaths = ReturnType<typeof clusterPaths>;

export interface ClusterOptions {
  readonly binaries: PostgresBinaries;
  readonly launch: Launch;
  readonly password: string;
  /** `false` switches off all syncs to disk. */
  readonly durable: boolean;
}

export type ClusterServer = ReturnType<typeof serverOf>;

const SUPERUSER = 'countersign';
/** The recovery of a large write-ahead log may delay the first connection this long. */
const START_MS = 60_000;
const SHUTDOWN = [
  ['SIGINT', 10_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
] as const;

/** A server that listens on 127.0.0.1. */
const serverOf = (port: number, pid: number, hasEnded: () => boolean) => ({
  port,
  pid,
  /** Fast shutdown: rolls back open transactions, and flushes committed ones. */
  stop: () => endProcess(pid, hasEnded, SHUTDOWN),
});

/** The files of one embedded server. */
export function clusterPaths(stateDir: string) {
  const home = resolve(stateDir, 'postgres');
  return { home, data: join(home, 'data'), password: join(home, 'password'), log: join(home, 'postgres.log') };
}

/** The superuser's password, made at the first start, in a file that only the owner can read. */
export function clusterPassword(paths: ClusterPaths): string {
  // Others may enter but not list the folder, because the server may have to run as another user.
  mkdirSync(paths.home, { recursive: true, mode: 0o711 });
  if (!existsSync(paths.password)) {
    const made = `${paths.password}.${process.pid}`;
    writeFileSync(made, randomBytes(24).toString('hex'), { mode: 0o600 });
    renameSync(made, paths.password);
  }
  return readFileSync(paths.password, 'utf8').trim();
}

export const clusterUrl = (password: string, port: number, database: string): string =>
  `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`;

/** The major version that made the data folder, if there is one. */
export function clusterMajor(paths: ClusterPaths): number | undefined {
  const file = join(paths.data, 'PG_VERSION');
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined;
}

/** Creates the data folder under another name first, so that a killed start leaves no partial one. Returns the problem, if any. */
export function createCluster(
  paths: ClusterPaths,
  { binaries, launch, password, durable }: ClusterOptions,
): string | undefined {
  const made = mkdtempSync(join(paths.home, 'new-'));
  const secret = join(mkdtempSync(join(tmpdir(), 'countersign-')), 'password');
  try {
    writeFileSync(secret, `${password}\n`, { mode: 0o600 });
    chmodSync(join(secret, '..'), 0o711);
    launch.own(secret);
    launch.own(made);
    const locale =
      binaries.major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : ['--locale=C.UTF-8'];
    const options = ['-D', made, '-U', SUPERUSER, '-A', 'scram-sha-256', `--pwfile=${secret}`, '-E', 'UTF8', ...locale];
    const line = launch.wrap(join(binaries.folder, 'initdb'), durable ? options : [...options, '--no-sync']);
    const done = spawnSync(line.command, line.args, {
      ...launch.identity,
      env: binaries.environment,
      cwd: '/',
      encoding: 'utf8',
    });
    if (done.status !== 0) return done.error?.message ?? lastLines(done.stderr);
    if (clusterMajor(paths) === undefined) renameSync(made, paths.data);
    return undefined;
  } finally {
    rmSync(join(secret, '..'), { recursive: true, force: true });
    rmSync(made, { recursive: true, force: true });
  }
}

/** Starts the server and waits for its first answer. Returns a problem as text. */
export async function startCluster(
  paths: ClusterPaths,
  { binaries, launch, password, durable }: ClusterOptions,
): Promise<ClusterServer | string> {
  // The previous port, so that clients of a server that died find the new one.
  const port = await freePort(lastPort(paths));
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'logging_collector=off',
    'max_connections=200',
    // Under load, a commit waits half a millisecond for others, so that one flush serves them all.
    ...['commit_delay=500', 'commit_siblings=2'],
  ];
  if (!durable) settings.push('fsync=off', 'synchronous_commit=off', 'full_page_writes=off');
  const args = ['-D', paths.data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
  const { pid, hasEnded, problem } = spawnServer({
    ...launch.wrap(join(binaries.folder, 'postgres'), args),
    ...launch.identity,
    env: binaries.environment,
    cwd: '/',
    logFile: paths.log,
  });
  const server = pid === undefined ? undefined : serverOf(port, pid, hasEnded);
  if ((await opens(password, port, hasEnded)) && server !== undefined) return server;
  await server?.stop();
  return problem();
}

/**
 * The server that already runs on the data folder, started by another process or by one that was killed. If the pid file is stale, the
 * pid in it is replaced, so that the next server does not take another process with that pid for a rival. The shared memory key stays
 * in the file, because PostgreSQL's check against a second server on the same data needs it.
 */
export async function adoptCluster(paths: ClusterPaths, password: string): Promise<ClusterServer | undefined> {
  const file = join(paths.data, 'postmaster.pid');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (!(pid > 0)) return undefined;
  if (!runsWith(pid, paths.data)) {
    if (isAlive(pid)) writeFileSync(file, ['2147483647', ...lines.slice(1)].join('\n'));
    return undefined;
  }
  const hasEnded = () => !isAlive(pid);
  if (await opens(password, port, hasEnded)) return serverOf(port, pid, hasEnded);
  if (hasEnded()) return undefined;
  throw new Error(
    `PostgreSQL (pid ${pid}) runs on ${paths.data} but does not answer on port ${port}; stop it and start again`,
  );
}

/** From the command line of the last start, which the server stores. */
function lastPort(paths: ClusterPaths): number | undefined {
  const file = join(paths.data, 'postmaster.opts');
  const port = existsSync(file) ? /"-p" "(\d+)"/.exec(readFileSync(file, 'utf8'))?.[1] : undefined;
  return port === undefined ? undefined : Number(port);
}

/** Waits until the server accepts a connection. False when it ends before, or does not answer in time. */
async function opens(password: string, port: number, hasEnded: () => boolean): Promise<boolean> {
  const config = { connectionString: clusterUrl(password, port, 'postgres'), connectionTimeoutMillis: 2_000 };
  const connect = () => withClient(config, async () => true).catch(() => undefined);
  return (await until(() => (hasEnded() ? false : connect()), { withinMs: START_MS })) === true;
}

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { readEnvironment } from '../../apps/shared/config/env.ts';
import { migrate } from '../../apps/shared/database/migrate.ts';
import { findPostgresBinaries } from '../../apps/shared/embedded/postgres-binaries.ts';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { withOperator } from './postgres-faults.ts';
import { waitFor } from './wait-for.ts';
import { ownFolder } from './test-run.ts';
import { ORDINARY_LIMITS } from './time.ts';

const MEGABYTES = 80;

/**
 * Disks of memory in their own namespaces, which need no root rights, and a server on them that is started again after
 * every end. $1: folder for the disks, $2: folder of the programs, $3: port, $4: folder that both sides see.
 */
const SCRIPT = `
for disk in data log; do
  mkdir "$1/$disk" && mount -t tmpfs -o size=${MEGABYTES}m,mode=0777 tmpfs "$1/$disk" || exit 1
done
exec unshare --user --map-user=65534 --map-group=65534 -- sh -c '
  "$2/initdb" -D "$1/data/cluster" -X "$1/log/wal" -U operator -A trust -E UTF8 --locale=C --no-sync --wal-segsize=1 >&2 || exit 1
  while [ ! -e "$4/stop" ]; do
    "$2/postgres" -D "$1/data/cluster" -p "$3" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \\
      -c min_wal_size=2MB -c max_wal_size=4MB -c wal_recycle=off -c autovacuum=off -c max_connections=50 -c shared_buffers=16MB &
    server=$!
    while kill -0 $server 2>/dev/null; do
      if [ -e "$4/stop" ]; then kill -INT $server; fi
      if [ -e "$4/make-room" ]; then rm -f "$1/data/filler" "$1/log/filler" "$4/make-room"; fi
      if [ -e "$4/restart" ]; then rm -f "$4/restart"; kill -QUIT $server; fi
      sleep 0.05
    done
    sleep 0.2
  done' sh "$1" "$2" "$3" "$4"
`;

/** Why this machine lets no process have its own disk, in words; undefined where it does. */
export function whyNoSmallDisks(): string | undefined {
  const mount = 'mount -t tmpfs -o size=1m tmpfs /tmp';
  const asked = ['--user', '--map-root-user', '--mount', '--', 'sh', '-c', mount];
  const { status, error, stderr } = spawnSync('unshare', asked, { encoding: 'utf8' });
  if (status === 0) return undefined;
  return error === undefined ? stderr.trim().replaceAll('\n', ', ') : `unshare cannot be run (${error.message})`;
}

/** A migrated PostgreSQL server whose two disks can be filled: one for the data, one for the write-ahead log. */
export class SmallDiskPostgres {
  readonly folder = ownFolder('countersign-small-disk-');
  readonly #disks = join(this.folder, 'disks');
  readonly #shared = join(this.folder, 'shared');
  #child: ChildProcess | undefined;
  url = '';

  async start(): Promise<void> {
    for (const folder of [this.#disks, this.#shared]) mkdirSync(folder);
    for (const folder of [this.folder, this.#disks, this.#shared]) chmodSync(folder, 0o777);
    const { searchPath } = readEnvironment();
    const tried: string[] = [];
    const [binaries] = findPostgresBinaries({ linkFolder: join(this.folder, 'lib'), searchPath, tried });
    if (binaries === undefined) throw new Error(tried.join('; '));
    const port = await freePort();
    const log = openSync(join(this.folder, 'log'), 'a');
    this.#child = spawn(
      'unshare',
      [
        ...['--user', '--map-root-user', '--mount', '--', 'sh', '-c', SCRIPT, 'sh'],
        ...[this.#disks, binaries.folder, String(port), this.#shared],
      ],
      { env: binaries.environment, stdio: ['ignore', log, log] },
    );
    this.url = `postgresql://operator@127.0.0.1:${port}/postgres`;
    await this.answers();
    await migrate(this.url, ORDINARY_LIMITS);
  }

  async answers(): Promise<void> {
    await waitFor(
      async () => {
        if (this.#child?.exitCode !== null) throw new Error(`no server: ${this.log.slice(-2_000)}`);
        const client = new Client({ connectionString: this.url, connectionTimeoutMillis: 2_000 });
        client.on('error', () => undefined);
        return client.connect().then(
          () => client.end().then(() => true),
          () => false,
        );
      },
      { timeoutMs: 60_000, everyMs: 100 },
    );
  }

  /** Fills the rest of a disk. */
  async fill(disk: 'data' | 'log'): Promise<void> {
    const file = join(this.#disks, disk, 'filler');
    const copy = `COPY (SELECT repeat('x', 8191) FROM generate_series(1, ${MEGABYTES * 1024})) TO '${file}'`;
    await withOperator(this.url, (operator) => operator.query(copy)).catch(() => undefined);
  }

  /** Frees the disk, whether or not the server runs. */
  async makeRoom(): Promise<void> {
    await this.#order('make-room');
    await this.answers();
  }

  /** As an operator does: a server whose recovery met the full disk stays up and serves no connection. */
  async makeRoomAndRestart(): Promise<void> {
    await this.#order('make-room');
    await this.#order('restart');
    await this.answers();
  }

  async #order(name: string): Promise<void> {
    const order = join(this.#shared, name);
    writeFileSync(order, '');
    await waitFor(() => !existsSync(order));
  }

  get log(): string {
    return readFileSync(join(this.folder, 'log'), 'utf8');
  }

  async stop(): Promise<void> {
    writeFileSync(join(this.#shared, 'stop'), '');
    await waitFor(() => this.#child === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

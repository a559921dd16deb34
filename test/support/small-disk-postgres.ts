import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { packagePath } from '../../apps/shared/config/package-root.ts';
import { readEnvironment } from '../../apps/shared/config/env.ts';
import { migrate } from '../../apps/shared/database/migrate.ts';
import { findPostgresBinaries } from '../../apps/shared/embedded/postgres-binaries.ts';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { withOperator } from './postgres-faults.ts';
import { waitFor } from './wait-for.ts';

const MEGABYTES = 80;

/**
 * A disk of memory in namespaces of its own, which need no right of root's, and a server on it that is started again
 * whenever it ends. $1: folder for the disk, $2: folder of the programs, $3: port, $4: folder that both sides see.
 */
const SCRIPT = `
mount -t tmpfs -o size=${MEGABYTES}m,mode=0777 tmpfs "$1" || exit 1
exec unshare --user --map-user=65534 --map-group=65534 -- sh -c '
  "$2/initdb" -D "$1/data" -U operator -A trust -E UTF8 --locale=C --no-sync --wal-segsize=1 >&2 || exit 1
  while [ ! -e "$4/stop" ]; do
    "$2/postgres" -D "$1/data" -p "$3" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \\
      -c min_wal_size=2MB -c max_wal_size=4MB -c wal_recycle=off -c autovacuum=off -c max_connections=50 -c shared_buffers=16MB &
    server=$!
    while kill -0 $server 2>/dev/null; do
      if [ -e "$4/stop" ]; then kill -INT $server; fi
      sleep 0.05
    done
    echo ended >> "$4/ends"
    if [ -e "$4/make-room" ]; then rm -f "$1/filler"; fi
    sleep 0.2
  done' sh "$1" "$2" "$3" "$4"
`;

/** Whether this machine lets a process have a disk of its own. */
export const canHaveSmallDisks = (): boolean =>
  spawnSync('unshare', ['--user', '--map-root-user', '--mount', '--', 'true']).status === 0;

/** A migrated PostgreSQL server whose disk can be filled, with data and write-ahead log on it. */
export class SmallDiskPostgres {
  readonly folder = mkdtempSync(join(tmpdir(), 'countersign-small-disk-'));
  readonly #disk = join(this.folder, 'disk');
  readonly #shared = join(this.folder, 'shared');
  #child: ChildProcess | undefined;
  url = '';

  async start(): Promise<void> {
    for (const folder of [this.#disk, this.#shared]) mkdirSync(folder);
    for (const folder of [this.folder, this.#disk, this.#shared]) chmodSync(folder, 0o777);
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
        ...[this.#disk, binaries.folder, String(port), this.#shared],
      ],
      { env: binaries.environment, stdio: ['ignore', log, log] },
    );
    this.url = `postgresql://operator@127.0.0.1:${port}/postgres`;
    await this.answers();
    await migrate(this.url, packagePath('prisma', 'migrations'));
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

  /** Takes what is left of the disk, but for this much. */
  async fill({ butForKilobytes = 0 }: { butForKilobytes?: number } = {}): Promise<void> {
    await withOperator(this.url, async (operator) => {
      const copy = (rows: number | string) =>
        operator.query(`COPY (SELECT repeat('x', 8191) FROM generate_series(1, ${rows})) TO '${this.#disk}/filler'`);
      await copy(MEGABYTES * 1024).catch(() => undefined);
      const { rows } = await operator.query<{ size: string }>(`SELECT size FROM pg_stat_file('${this.#disk}/filler')`);
      if (butForKilobytes > 0) await copy(Math.floor((Number(rows[0]?.size) / 1024 - butForKilobytes) / 8));
    });
  }

  /** Gives the disk back, whether or not the server runs. */
  async makeRoom(): Promise<void> {
    writeFileSync(join(this.#shared, 'make-room'), '');
    await this.answers();
    await withOperator(this.url, (operator) => operator.query(`COPY (SELECT 1) TO '${this.#disk}/filler'`));
    rmSync(join(this.#shared, 'make-room'));
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

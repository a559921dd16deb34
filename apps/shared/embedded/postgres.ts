import { join } from 'node:path';
import { withClient } from '../database/client.ts';
import { findPostgresBinaries } from './postgres-binaries.ts';
import {
  adoptCluster,
  clusterMajor,
  clusterPassword,
  clusterPaths,
  clusterUrl,
  createCluster,
  startCluster,
  type ClusterOptions,
  type ClusterPaths,
  type ClusterServer,
} from './postgres-cluster.ts';
import { launches, until, withStartLock } from './process-tools.ts';
import { errorCode } from '../lifecycle.ts';

export interface PostgresOptions {
  /** An existing server (`DATABASE_URL`). Then no server is started or stopped. */
  readonly databaseUrl?: string | undefined;
  /** Folder for the data, the password and the log of the embedded server. */
  readonly stateDir: string;
  /** `PATH`, for PostgreSQL's programs, `unshare` and `id`. */
  readonly searchPath: string;
  /** `false` trades durability for speed, for tests only. */
  readonly durable?: boolean;
}

export interface PostgresServer {
  /** Address of the database, with its password. Never print it. */
  readonly url: string;
  /** For people: the origin of the server. */
  readonly how: string;
  /** Ends the server, unless it came from `databaseUrl`, and waits for its end. */
  stop(): Promise<void>;
}

const DATABASE = 'countersign';
/** The children of a killed server hold its shared memory for a moment, and another process may take a free port first. */
const RETRY_MS = 15_000;
/** The last one also occurs for a zombie, which PostgreSQL takes for a living server. */
const PASSING = /still in use|address already in use|lock file "postmaster.pid" already exists/i;

/**
 * Finds or starts PostgreSQL. The order is: `databaseUrl`, the server that already runs on our state folder, the programs of the npm
 * package, the system's programs. Throws an error that lists all attempts.
 */
export async function findOrStartPostgres(options: PostgresOptions): Promise<PostgresServer> {
  if (options.databaseUrl !== undefined && options.databaseUrl !== '') {
    return { url: options.databaseUrl, how: 'DATABASE_URL', stop: async () => undefined };
  }
  const paths = clusterPaths(options.stateDir);
  return withStartLock(join(paths.home, 'start.lock'), () => adoptOrStart(paths, options));
}

/** Address of the database, if the embedded server of the state folder runs. Starts no server. */
export async function runningPostgres(stateDir: string): Promise<string | undefined> {
  const paths = clusterPaths(stateDir);
  if (clusterMajor(paths) === undefined) return undefined;
  const password = clusterPassword(paths);
  const server = await adoptCluster(paths, password);
  return server && clusterUrl(password, server.port, DATABASE);
}

async function adoptOrStart(paths: ClusterPaths, options: PostgresOptions): Promise<PostgresServer> {
  const password = clusterPassword(paths);
  const running = await adoptCluster(paths, password);
  const { server, how } =
    running !== undefined
      ? { server: running, how: `already running (pid ${running.pid})` }
      : await startAny(paths, password, options);
  try {
    await createDatabase(clusterUrl(password, server.port, 'postgres'));
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { url: clusterUrl(password, server.port, DATABASE), how, stop: () => server.stop() };
}

async function startAny(
  paths: ClusterPaths,
  password: string,
  { searchPath, durable = true }: PostgresOptions,
): Promise<{ server: ClusterServer; how: string }> {
  const tried: string[] = ['DATABASE_URL: not set', `server of ${paths.home}: none running`];
  for (const binaries of findPostgresBinaries({ linkFolder: `${paths.home}/lib`, searchPath, tried })) {
    const made = clusterMajor(paths);
    if (made !== undefined && made !== binaries.major) {
      tried.push(`${binaries.origin}: is version ${binaries.major}, the data in ${paths.data} is of version ${made}`);
      continue;
    }
    for (const launch of launches(searchPath)) {
      const label = `${binaries.origin}, ${launch.how}`;
      const server = await start(paths, { binaries, launch, password, durable });
      if (typeof server !== 'string') return { server, how: `PostgreSQL ${binaries.major} (${label})` };
      tried.push(`${label}: ${server}`);
    }
  }
  throw new Error(
    `no PostgreSQL could be found or started. Set DATABASE_URL to a PostgreSQL 15 or newer, or fix one of these:\n` +
      tried.map((line) => `  - ${line}`).join('\n'),
  );
}

async function start(paths: ClusterPaths, how: ClusterOptions): Promise<ClusterServer | string> {
  if (clusterMajor(paths) === undefined) {
    const problem = createCluster(paths, how);
    if (problem !== undefined) return problem;
  }
  let last = 'did not start';
  const server = await until(
    async () => {
      const started = await startCluster(paths, how);
      if (typeof started !== 'string') return started;
      last = started;
      // Another process of ours may have been faster.
      const running = await adoptCluster(paths, how.password);
      if (running !== undefined) return running;
      return PASSING.test(started) ? undefined : started;
    },
    { withinMs: RETRY_MS, everyMs: 200 },
  );
  return server ?? last;
}

async function createDatabase(adminUrl: string): Promise<void> {
  await withClient({ connectionString: adminUrl, application_name: 'countersign start' }, async (client) => {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  }).catch((error: unknown) => {
    // Another process created it between the two statements.
    if (!['42P04', '23505'].includes(errorCode(error) ?? '')) throw error;
  });
}

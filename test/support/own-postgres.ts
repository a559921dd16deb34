import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readEnvironment } from '../../apps/shared/config/env.ts';
import { migrate } from '../../apps/shared/database/migrate.ts';
import { findOrStartPostgres, type PostgresServer } from '../../apps/shared/embedded/postgres.ts';
import { isAlive } from '../../apps/shared/embedded/process-tools.ts';
import { ownFolder } from './test-run.ts';
import { waitFor } from './wait-for.ts';
import { ORDINARY_LIMITS } from './time.ts';

/** A test file's own migrated PostgreSQL server, which syncs to disk and can be crashed. */
export class OwnPostgres {
  readonly folder = ownFolder('countersign-postgres-');
  #server: PostgresServer | undefined;

  /** Starts it, the first time or again. The address stays the same. */
  async start(): Promise<string> {
    const url = await this.startAsItIs();
    await migrate(url, ORDINARY_LIMITS);
    return url;
  }

  /** Starts it without checking its content. */
  async startAsItIs(): Promise<string> {
    this.#server = await findOrStartPostgres({ stateDir: this.folder, searchPath: readEnvironment().searchPath });
    return this.#server.url;
  }

  /** Ends it as `pg_ctl stop -m immediate` does: without a word to clients, without a checkpoint. */
  async crash(): Promise<void> {
    const pid = Number(readFileSync(join(this.folder, 'postgres', 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
    process.kill(pid, 'SIGQUIT');
    await waitFor(() => !isAlive(pid));
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../apps/shared/config/config.ts';
import type { DevelopmentSecrets } from '../../apps/shared/config/development-secrets.ts';
import { readEnvironment } from '../../apps/shared/config/env.ts';
import { migrate } from '../../apps/shared/database/migrate.ts';
import { startIdentityProvider } from '../../apps/shared/embedded/identity-provider.ts';
import { findOrStartPostgres } from '../../apps/shared/embedded/postgres.ts';
import { isAlive } from '../../apps/shared/embedded/process-tools.ts';
import { findOrStartTemporal } from '../../apps/shared/embedded/temporal.ts';
import { createLogger } from '../../apps/shared/logger.ts';
import { waitFor } from './wait-for.ts';

/** What the deployables stand on when each is a process of its own: Postgres that syncs, Temporal, an issuer. */
export interface Infrastructure {
  readonly environment: { readonly DATABASE_URL: string; readonly TEMPORAL_ADDRESS: string };
  killTemporal(): Promise<void>;
  startTemporal(): Promise<void>;
  /** As `pg_ctl stop -m immediate` does. */
  crashPostgres(): Promise<void>;
  startPostgres(): Promise<void>;
  stop(): Promise<void>;
}

export async function startInfrastructure(
  config: Config,
  { identity, secrets }: DevelopmentSecrets,
): Promise<Infrastructure> {
  const { stateDir } = config;
  const { searchPath, cacheDir, variables } = readEnvironment();
  let postgres = await findOrStartPostgres({ stateDir, searchPath });
  await migrate(postgres.url);
  const temporalOptions = { stateDir, searchPath, cacheDir, variables, onProgress: () => undefined };
  let temporal = await findOrStartTemporal(temporalOptions);
  const issuer = await startIdentityProvider(
    config,
    { identity, secrets },
    createLogger('identity', { mode: 'development' }),
  );
  return {
    environment: { DATABASE_URL: postgres.url, TEMPORAL_ADDRESS: temporal.address },
    async killTemporal() {
      const { pid } = JSON.parse(readFileSync(join(stateDir, 'temporal', 'server.json'), 'utf8')) as { pid: number };
      process.kill(pid, 'SIGKILL');
      await waitFor(() => !isAlive(pid));
    },
    async startTemporal() {
      temporal = await findOrStartTemporal(temporalOptions);
    },
    async crashPostgres() {
      const pid = Number(readFileSync(join(stateDir, 'postgres', 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
      process.kill(pid, 'SIGQUIT');
      await waitFor(() => !isAlive(pid));
    },
    async startPostgres() {
      postgres = await findOrStartPostgres({ stateDir, searchPath });
    },
    async stop() {
      await issuer.stop();
      await temporal.stop();
      await postgres.stop();
    },
  };
}

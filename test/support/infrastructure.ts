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
import { copyTemplate } from './database.ts';
import { killTemporal, testTemporal } from './temporal.ts';
import { waitFor } from './wait-for.ts';
import { ORDINARY_LIMITS } from './time.ts';

/** The servers that the deployables need: Postgres and Temporal. */
export interface Servers {
  readonly environment: { readonly DATABASE_URL: string; readonly TEMPORAL_ADDRESS: string };
  killTemporal(): Promise<void>;
  startTemporal(): Promise<void>;
  /** As `pg_ctl stop -m immediate` does. */
  crashPostgres(): Promise<void>;
  startPostgres(): Promise<void>;
  stop(): Promise<void>;
}

/** The servers of the jest run, with the stack's own database. A test that kills or stops one needs its own servers. */
export async function borrowServers(): Promise<Servers> {
  const [database, temporal] = await Promise.all([copyTemplate(), testTemporal()]);
  const refuse = () => Promise.reject(new Error("this stack has borrowed servers: give `servers: 'own'`"));
  return {
    environment: { DATABASE_URL: database.url, TEMPORAL_ADDRESS: temporal.address },
    ...{ killTemporal: refuse, startTemporal: refuse, crashPostgres: refuse, startPostgres: refuse },
    stop: database.drop,
  };
}

/** Servers and an issuer for deployables that run apart: own servers unless others are given. */
export async function startInfrastructure(
  config: Config,
  { identity, secrets }: DevelopmentSecrets,
  given?: Servers,
): Promise<Servers> {
  const servers = given ?? (await startServers(config));
  const log = createLogger('identity', { mode: 'development' });
  const issuer = await startIdentityProvider(config, { identity, secrets }, log);
  const stop = async () => {
    await issuer.stop();
    await servers.stop();
  };
  return { ...servers, stop };
}

/** A Postgres that syncs, and a Temporal. */
async function startServers({ stateDir }: Config): Promise<Servers> {
  const { searchPath, cacheDir, variables } = readEnvironment();
  let postgres = await findOrStartPostgres({ stateDir, searchPath });
  await migrate(postgres.url, ORDINARY_LIMITS);
  const temporalOptions = { stateDir, searchPath, cacheDir, variables, onProgress: () => undefined };
  let temporal = await findOrStartTemporal(temporalOptions);
  return {
    environment: { DATABASE_URL: postgres.url, TEMPORAL_ADDRESS: temporal.address },
    killTemporal: () => killTemporal(stateDir),
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
      await temporal.stop();
      await postgres.stop();
    },
  };
}

import { join } from 'node:path';
import { destination, pino } from 'pino';
import { startEverything, stopEverything, type UpDeps } from '../../apps/cli/commands/up-parts.ts';
import type { Config } from '../../apps/shared/config/config.ts';
import type { DevelopmentSecrets } from '../../apps/shared/config/development-secrets.ts';
import { readEnvironment } from '../../apps/shared/config/env.ts';
import { unchanging } from '../../apps/shared/config/live.ts';
import { limitsOf } from '../../apps/shared/limits.ts';
import { systemTime } from './time.ts';

/**
 * Starts the whole product in this process, as `up` does in its own, and answers how to stop it. A test whose promise
 * is not about processes saves the time in which Node loads the product. `databaseUrl` is the database for all parts.
 */
export async function startHere(
  config: Config,
  development: DevelopmentSecrets,
  databaseUrl: string,
): Promise<() => Promise<void>> {
  const file = join(config.stateDir, 'logs', 'countersign.log');
  const parts: UpDeps['parts'] = { serving: [], infrastructure: [] };
  const stop = async () => {
    const unclean = await stopEverything(parts, { ...systemTime, limits: limitsOf(config) });
    if (unclean.length > 0) throw new Error(`these parts did not stop cleanly: ${unclean.join(', ')}`);
  };
  const starting = startEverything({
    ...{ config, development, parts },
    live: unchanging(config),
    environment: { ...readEnvironment(), stateDir: config.stateDir, databaseUrl },
    log: pino({ name: 'countersign' }, destination({ dest: file, mkdir: true, sync: true })),
    say: () => undefined,
  });
  try {
    await starting.ready;
  } catch (error) {
    await starting.settled;
    await stop();
    throw error;
  }
  return stop;
}

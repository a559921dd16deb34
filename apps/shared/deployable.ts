import { CountersignError } from '../../workflows/domain/errors.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config/config.ts';
import type { LiveConfig } from './config/live.ts';
import { loadDevelopmentSecrets } from './config/development-secrets.ts';
import { readEnvironment } from './config/env.ts';
import { loadConfig } from './config/load.ts';
import { formatProblem } from './config/problems.ts';
import { watchConfig } from './config/watch.ts';
import { type Secrets, secretsFromEnvironment } from './config/secrets.ts';
import { refuseUnfitDatabase, ROLES } from './database/pool.ts';
import { reportCrash, type Running, runUntilSignal, startFailure } from './lifecycle.ts';
import { limitsOf } from './limits.ts';
import { createLogger, type Logger } from './logger.ts';

/** What a deployable has beside its configuration and its secrets. */
export interface Deps {
  readonly databaseUrl: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Changes of the configuration while the process runs. Default: it never changes. */
  readonly live?: LiveConfig;
}

/** The inputs of a deployable that runs as its own process. */
export interface DeployableContext<Name extends keyof Secrets> extends Deps {
  readonly config: Config;
  readonly secrets: Pick<Secrets, Name>;
}

/** A deployable in a process of its own. */
type Deployed = Running & {
  /** Reads everything again that can change while it runs, beside the configuration. */
  reload?(): Promise<void>;
};

/**
 * Runs one deployable as this process until SIGINT or SIGTERM. In production, all addresses and secrets come from the environment. In
 * development, the secrets come from the state folder, so that separately started parts fit together. SIGHUP has it read its files again
 * at once. A failed start writes one line to stderr and exits with 1.
 */
export async function runDeployable<Name extends keyof Secrets>(
  name: keyof typeof ROLES,
  secretNames: readonly Name[],
  clock: Clock,
  start: (context: DeployableContext<Name>) => Promise<Deployed>,
): Promise<void> {
  try {
    const environment = readEnvironment();
    const load = (configFile?: string) => loadConfig({ environment, configFile, cwd: process.cwd() });
    const loaded = load();
    const { mode, stateDir } = loaded.config;
    const log = createLogger(name, { mode, stateDir, level: environment.logLevel });
    reportCrash(log);
    for (const note of loaded.notes) log.warn(formatProblem(note));
    const databaseUrl = given(environment.databaseUrl, 'DATABASE_URL');
    const limits = limitsOf(loaded.config);
    await refuseUnfitDatabase(databaseUrl, { durable: mode === 'production', role: ROLES[name], limits });
    const live = watchConfig(loaded, { load: () => load(loaded.file), clock, log });
    const secrets =
      mode === 'production'
        ? secretsFromEnvironment(environment.variables, secretNames)
        : (await loadDevelopmentSecrets(stateDir)).secrets;
    const running = await start({ config: live.config, secrets, databaseUrl, clock, log, live });
    live.start();
    // Only in a process of its own: elsewhere this signal means that the terminal was closed.
    process.on('SIGHUP', () => void live.reload().then(() => running.reload?.()));
    const watch = { name: 'configuration', stop: () => live.close() };
    await runUntilSignal([running, watch], { clock, limits });
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${name}: ${startFailure(error)}\n`);
    process.exit(1);
  }
}

/** The value of a required variable. Throws `ERR_CONFIG_INVALID` with its name. */
export function given(value: string | undefined, variable: string): string {
  if (value !== undefined) return value;
  throw new CountersignError(
    'ERR_CONFIG_INVALID',
    `${variable} is not set. A separately started part needs it; \`npx countersign up\` provides it by itself`,
  );
}

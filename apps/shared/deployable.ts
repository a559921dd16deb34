import { CountersignError } from '../../workflows/domain/errors.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config/config.ts';
import { loadDevelopmentSecrets } from './config/development-secrets.ts';
import { readEnvironment } from './config/env.ts';
import { loadConfig } from './config/load.ts';
import { formatProblem } from './config/problems.ts';
import { type Secrets, secretsFromEnvironment } from './config/secrets.ts';
import { refuseUnfitDatabase, ROLES } from './database/pool.ts';
import { type Running, runUntilSignal, startFailure } from './lifecycle.ts';
import { limitsOf } from './limits.ts';
import { createLogger, type Logger } from './logger.ts';

/** What a deployable has beside its configuration and its secrets. */
export interface Deps {
  readonly databaseUrl: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The inputs of a deployable that runs as its own process. */
export interface DeployableContext<Name extends keyof Secrets> extends Deps {
  readonly config: Config;
  readonly secrets: Pick<Secrets, Name>;
}

/**
 * Runs one deployable as this process until SIGINT or SIGTERM. In production, all addresses and secrets come from the environment. In
 * development, the secrets come from the state folder, so that separately started parts fit together. A failed start writes one line to
 * stderr and exits with 1.
 */
export async function runDeployable<Name extends keyof Secrets>(
  name: keyof typeof ROLES,
  secretNames: readonly Name[],
  clock: Clock,
  start: (context: DeployableContext<Name>) => Promise<Running>,
): Promise<void> {
  try {
    const environment = readEnvironment();
    const { config, notes } = loadConfig({ environment, cwd: process.cwd() });
    const log = createLogger(name, { mode: config.mode, stateDir: config.stateDir, level: environment.logLevel });
    for (const note of notes) log.warn(formatProblem(note));
    const databaseUrl = given(environment.databaseUrl, 'DATABASE_URL');
    const limits = limitsOf(config);
    await refuseUnfitDatabase(databaseUrl, { durable: config.mode === 'production', role: ROLES[name], limits });
    const running = await start({
      config,
      secrets:
        config.mode === 'production'
          ? secretsFromEnvironment(environment.variables, secretNames)
          : (await loadDevelopmentSecrets(config.stateDir)).secrets,
      databaseUrl,
      clock,
      log,
    });
    await runUntilSignal([running], { clock, limits });
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

import type { Command } from 'commander';
import type { Config } from '../shared/config/config.ts';
import { loadConfig, type LoadedConfig } from '../shared/config/load.ts';
import type { Io } from './io.ts';
import { CliError } from './output.ts';
import { findStack, type Stack } from './stack.ts';

/** Options that every command has. */
export interface GlobalOptions {
  readonly config?: string;
  readonly debug?: boolean;
}

/** The configuration that a command works with. Throws `ERR_CONFIG_INVALID` with one line per problem. */
export function readConfig(io: Io, command: Command): LoadedConfig {
  const { config: configFile } = command.optsWithGlobals<GlobalOptions>();
  return loadConfig({ environment: io.environment, configFile, cwd: io.cwd });
}

/** The stack that runs on the configured state folder. Throws when there is none. */
export async function requireStack(config: Config): Promise<Stack> {
  const stack = await findStack(config);
  if (stack) return stack;
  throw new CliError(`nothing is running on the state folder ${config.stateDir}; start it with \`npm start\``);
}

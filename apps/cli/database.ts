import type { Command } from 'commander';
import { databaseAddress } from '../shared/config/env.ts';
import { runningPostgres } from '../shared/embedded/postgres.ts';
import { readConfig } from './context.ts';
import type { Io } from './io.ts';
import { CliError } from './output.ts';

/** The database to work on as the owner of its tables: the one that is named, else `DATABASE_URL`, else the running embedded one. */
export async function ownersDatabase(io: Io, command: Command, named?: string): Promise<string> {
  if (named !== undefined) return databaseAddress('--database-url', named);
  const url = io.environment.databaseUrl ?? (await runningPostgres(readConfig(io, command).config.stateDir));
  if (url !== undefined) return url;
  throw new CliError(
    'no database: set DATABASE_URL or --database-url (`npm start` migrates the embedded one by itself)',
  );
}

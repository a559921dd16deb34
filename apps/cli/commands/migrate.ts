import { Command } from 'commander';
import { packagePath } from '../../shared/config/package-root.ts';
import { limitsOf } from '../../shared/limits.ts';
import { migrate, migrationStatus } from '../../shared/database/migrate.ts';
import { ownersDatabase } from '../database.ts';
import type { Io } from '../io.ts';
import { CliError, json } from '../output.ts';

interface MigrateOptions {
  readonly databaseUrl?: string;
  readonly status?: boolean;
  readonly json?: boolean;
}

/** `migrate`: brings a database up to this version, or says how far it is. */
export function migrateCommand(io: Io): Command {
  return new Command('migrate')
    .description('apply what is missing of the database migrations')
    .option('--database-url <url>', 'database (default: DATABASE_URL, else the running embedded one)')
    .option('--status', 'change nothing; say what is missing. Exit code 1 when something is')
    .option('--json', 'print the result as JSON')
    .action(async (options: MigrateOptions, command: Command) => {
      const url = await ownersDatabase(io, command, options.databaseUrl);
      const folder = packagePath('prisma', 'migrations');
      if (options.status) await status(io, url, folder, options);
      else await apply(io, url, folder, options);
    });
}

async function apply(io: Io, url: string, folder: string, options: MigrateOptions): Promise<void> {
  // Databases are migrated where there is no configuration yet.
  const limits = limitsOf({ timeLimitFactor: 1 });
  const { applied, unknown, renewedRights } = await migrate(url, folder, limits);
  if (options.json) return io.out(json({ applied, unknown, renewedRights }));
  if (renewedRights)
    io.out('Roles and rights were missing, as after a restore into another server. They were made anew.');
  io.out(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`);
  if (unknown.length > 0) io.err(`The database was migrated by a newer version: ${unknown.join(', ')}`);
}

async function status(io: Io, url: string, folder: string, options: MigrateOptions): Promise<void> {
  const found = await migrationStatus(url, folder);
  const wrong = [
    ...found.missing.map((name) => `${name}: missing; run \`countersign migrate\``),
    ...found.edited.map((name) => `${name}: was edited after it had been applied; restore its file`),
    ...found.failed.map((name) => `${name}: did not finish; mend it and use \`prisma migrate resolve\``),
    ...(found.lacksRights ? ['roles and rights: missing; run `countersign migrate`'] : []),
  ];
  if (options.json) io.out(json(found));
  else {
    for (const name of found.applied) io.out(`${name}: applied`);
    for (const name of found.unknown) io.out(`${name}: applied by a newer version`);
    for (const line of wrong) io.out(line);
  }
  if (wrong.length > 0)
    throw new CliError(`the database needs attention: ${wrong.length} of the lines above say what to do`);
}

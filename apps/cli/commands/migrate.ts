import { Command } from 'commander';
import { limitsOf } from '../../shared/limits.ts';
import { migrate, migrationStatus } from '../../shared/database/migrate.ts';
import { ownersDatabase } from '../people.ts';
import { CliError, type Io, json } from '../context.ts';

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
      await (options.status ? status(io, url, options) : apply(io, url, options));
    });
}

async function apply(io: Io, url: string, options: MigrateOptions): Promise<void> {
  // Databases are migrated where there is no configuration yet.
  const result = await migrate(url, limitsOf({ timeLimitFactor: 1 }));
  const { applied, unknown, functions, renewedRights } = result;
  if (options.json) return io.out(json(result));
  if (renewedRights)
    io.out('Roles and rights were missing, as after a restore into another server. They were made anew.');
  if (applied.length > 0) io.out(`Applied: ${applied.join(', ')}`);
  if (functions.length > 0) io.out(`Functions made anew: ${functions.length}`);
  if (applied.length === 0 && functions.length === 0) io.out('The database is up to date.');
  if (unknown.length > 0) io.err(`The database was migrated by a newer version: ${unknown.join(', ')}`);
}

async function status(io: Io, url: string, options: MigrateOptions): Promise<void> {
  const found = await migrationStatus(url);
  const wrong = [
    ...found.missing.map((name) => `${name}: missing; run \`countersign migrate\``),
    ...found.edited.map((name) => `${name}: was edited after it had been applied; restore its file`),
    ...found.failed.map((name) => `${name}: did not finish; mend it and use \`prisma migrate resolve\``),
    ...found.functions.map((name) => `${name}: another version; run \`countersign migrate\``),
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

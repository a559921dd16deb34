import { Command } from 'commander';
import { limitsOf } from '../../shared/limits.ts';
import { migrate, migrationStatus } from '../../shared/database/migrate.ts';
import { CliError, type Io, json, ownersDatabase } from '../context.ts';

/** `migrate`: migrates a database to this version, or reports its migrations. */
export function migrateCommand(io: Io): Command {
  return new Command('migrate')
    .description('apply missing database migrations')
    .option('--database-url <url>', 'database (default: DATABASE_URL, else the running embedded one)')
    .option('--status', 'change nothing; list the migrations. Exit code 1 if the database needs one')
    .option('--json', 'print the result as JSON')
    .action(async (options: { databaseUrl?: string; status?: boolean; json?: boolean }, command: Command) => {
      const url = await ownersDatabase(io, command, options.databaseUrl);
      await (options.status ? status(io, url, options.json) : apply(io, url, options.json));
    });
}

async function apply(io: Io, url: string, asJson = false): Promise<void> {
  // A migration may run before there is a configuration.
  const result = await migrate(url, limitsOf({ timeLimitFactor: 1 }));
  const { applied, unknown, functions, renewedRights } = result;
  if (asJson) return io.out(json(result));
  if (renewedRights) io.out('Restored missing roles and rights. They are missing after a restore into another server.');
  if (applied.length > 0) io.out(`Applied: ${applied.join(', ')}`);
  if (functions.length > 0) io.out(`Functions replaced: ${functions.length}`);
  if (applied.length === 0 && functions.length === 0) io.out('The database is up to date.');
  if (unknown.length > 0) io.err(`A newer version migrated the database: ${unknown.join(', ')}. Update Countersign.`);
}

async function status(io: Io, url: string, asJson = false): Promise<void> {
  const found = await migrationStatus(url);
  const wrong = [
    ...found.missing.map((name) => `${name}: missing; run \`countersign migrate\``),
    ...found.edited.map((name) => `${name}: edited after it was applied; restore its file`),
    ...found.failed.map((name) => `${name}: did not finish; fix its cause and use \`prisma migrate resolve\``),
    ...found.functions.map((name) => `${name}: another version; run \`countersign migrate\``),
    ...(found.lacksRights ? ['roles and rights: missing; run `countersign migrate`'] : []),
  ];
  if (asJson) io.out(json(found));
  else {
    for (const name of found.applied) io.out(`${name}: applied`);
    for (const name of found.unknown) io.out(`${name}: applied by a newer version`);
    for (const line of wrong) io.out(line);
  }
  if (wrong.length > 0)
    throw new CliError(`the database needs attention: ${wrong.length} lines above say the next step`);
}

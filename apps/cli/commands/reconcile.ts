import { Command, Option } from 'commander';
import { pino } from 'pino';
import { systemClock } from '../../shared/clock.ts';
import type { Config } from '../../shared/config/config.ts';
import { limitsOf } from '../../shared/limits.ts';
import { CliError, type Io, json, readConfig } from '../context.ts';
import type { Reconciled } from './reconcile/after-restore.ts';

const AFTER_HELP = `
Run it once after a restore of the database from a backup, or after a failover to a server that was behind. It needs
DATABASE_URL (for the owner of the tables) and, with --temporal kept, TEMPORAL_ADDRESS. No call is executed until it is done.
Gateway and worker may run meanwhile.

  --temporal kept    Temporal was not touched, so it has the history since the backup. A call that may have run ends as
                     outcome_unknown, a call that had ended without running ends as denied, and the others go on.
  --temporal lost    Temporal was restored, emptied or replaced too, so the history is lost. Every open call ends as outcome_unknown.

Calls that are missing in the restored database are lost: the gateway answers that it does not know their tasks.`;

/** `reconcile`: prepares a database that may have lost rows for further work. */
export function reconcileCommand(io: Io): Command {
  return new Command('reconcile')
    .description('compare the open calls of a restored database with their histories in Temporal')
    .requiredOption('--after-restore', 'reconcile after a restore (the only mode)')
    .addOption(
      new Option('--temporal <what>', 'whether Temporal kept its history')
        .choices(['kept', 'lost'])
        .makeOptionMandatory(),
    )
    .option('--json', 'print the result as JSON')
    .addHelpText('after', AFTER_HELP)
    .action(async (options: { temporal: 'kept' | 'lost'; json?: boolean }, command: Command) => {
      const { config } = readConfig(io, command);
      const { databaseUrl } = io.environment;
      if (databaseUrl === undefined) throw new CliError('DATABASE_URL is not set; set it to the restored database');
      // Loaded on demand, because they bring the client of Temporal.
      const { reconcileAfterRestore } = await import('./reconcile/after-restore.ts');
      const engine = options.temporal === 'kept' ? await engineOf(config.temporal) : undefined;
      try {
        const result = await reconcileAfterRestore({
          ...{ databaseUrl, engine: engine?.client, clock: systemClock, limits: limitsOf(config) },
          retentionMs: config.gateway.resultRetentionSeconds * 1_000,
          log: pino({ name: 'reconcile' }, { write: (line: string) => io.err(line.trimEnd()) }),
          onProgress: (done, of) => {
            if (done % 100 === 0 || done === of) io.err(`${done} of ${of} open calls`);
          },
        });
        io.out(options.json ? json(result) : inWords(result));
      } finally {
        await engine?.close();
      }
    });
}

async function engineOf(temporal: Config['temporal']) {
  const { address } = temporal;
  if (address === undefined)
    throw new CliError('TEMPORAL_ADDRESS is not set; set it to the Temporal that has the histories');
  const { createTemporalClient } = await import('../../shared/temporal/connection.ts');
  return createTemporalClient({ ...temporal, address });
}

function inWords({ epoch, open, settled, ended, withoutWitness }: Reconciled): string {
  return [
    `Epoch ${epoch}. Open calls: ${open}.`,
    `${settled} may have run after the backup: they ended as outcome_unknown and will not run again.`,
    `${withoutWitness} of these have no history in Temporal, so their outcome cannot be found.`,
    `${ended} had ended without running after the backup: they ended as denied.`,
    'Executions are possible again. Start gateway and worker if they do not run.',
  ].join('\n');
}

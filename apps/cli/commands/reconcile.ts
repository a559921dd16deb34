import { Command, Option } from 'commander';
import { pino } from 'pino';
import { systemClock } from '../../shared/clock.ts';
import { limitsOf } from '../../shared/limits.ts';
import { createTemporalClient } from '../../shared/temporal/connection.ts';
import { readConfig } from '../context.ts';
import type { Io } from '../io.ts';
import { CliError, json } from '../output.ts';
import { reconcileAfterRestore, type Reconciled } from './reconcile/after-restore.ts';

interface Options {
  readonly afterRestore: true;
  readonly temporal: 'kept' | 'lost';
  readonly json?: boolean;
}

const AFTER_HELP = `
Run it once, after the database was restored from a backup or failed over to a server that was behind. It needs
DATABASE_URL (as the owner of the tables) and, with --temporal kept, TEMPORAL_ADDRESS. Until it has come to its end,
nothing is executed. Gateway and worker may run meanwhile.

  --temporal kept    Temporal was not touched, so it knows what was done since the backup. A call that may have run ends as
                     outcome_unknown, one that had ended as denied, and the others go on.
  --temporal lost    Temporal was restored, emptied or replaced as well, so nothing can tell. Every open call ends as outcome_unknown.

Calls that the restored database does not know any more are gone: their tasks are answered as unknown.`;

/** `reconcile`: what has to be looked into before a database that may have lost rows is worked with again. */
export function reconcileCommand(io: Io): Command {
  return new Command('reconcile')
    .description('hold the open calls of a restored database against what Temporal remembers of them')
    .requiredOption('--after-restore', 'what to do (there is nothing else yet)')
    .addOption(
      new Option('--temporal <what>', 'what became of Temporal').choices(['kept', 'lost']).makeOptionMandatory(),
    )
    .option('--json', 'print the result as JSON')
    .addHelpText('after', AFTER_HELP)
    .action(async (options: Options, command: Command) => {
      const { config } = readConfig(io, command);
      const { databaseUrl } = io.environment;
      if (databaseUrl === undefined) throw new CliError('DATABASE_URL is not set; it names the restored database');
      const engine = options.temporal === 'kept' ? engineOf(config.temporal) : undefined;
      try {
        const result = await reconcileAfterRestore({
          ...{ databaseUrl, engine: engine?.client, clock: systemClock, limits: limitsOf(config) },
          retentionMs: config.gateway.resultRetentionSeconds * 1_000,
          log: pino({ name: 'reconcile' }, { write: (line: string) => io.err(line.trimEnd()) }),
          onProgress: (done, of) => {
            if (done % 100 === 0 || done === of) io.err(`${done} of ${of} open calls`);
          },
        });
        io.out(options.json ? json(result) : told(result));
      } finally {
        await engine?.close();
      }
    });
}

function engineOf(temporal: ReturnType<typeof readConfig>['config']['temporal']) {
  const { address } = temporal;
  if (address === undefined) throw new CliError('TEMPORAL_ADDRESS is not set; Temporal is the witness');
  return createTemporalClient({ ...temporal, address });
}

function told({ epoch, open, settled, ended, withoutWitness }: Reconciled): string {
  return [
    `Epoch ${epoch}. ${open} open calls were looked at.`,
    `${settled} may have run after the backup was made: they ended as outcome_unknown and will not run again.`,
    `${withoutWitness} of these are unknown to Temporal, so nothing can tell.`,
    `${ended} had ended after the backup was made, without running: they ended as denied.`,
    'Executions are possible again. Start gateway and worker where they do not run.',
  ].join('\n');
}

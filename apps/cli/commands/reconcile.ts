import { Command } from 'commander';
import { createTemporalClient } from '../../shared/temporal/connection.ts';
import { readConfig } from '../context.ts';
import type { Io } from '../io.ts';
import { CliError, json } from '../output.ts';
import { reconcileAfterRestore, type Reconciled } from './reconcile/after-restore.ts';

interface ReconcileOptions {
  readonly afterRestore: true;
  readonly json?: boolean;
}

const AFTER_HELP = `
Run it once, after the database was restored from a backup or failed over to a server that was behind, and before
gateway and worker are started again. It needs DATABASE_URL (as the owner of the tables) and TEMPORAL_ADDRESS. While
it runs, and when it does not come to its end, nothing is executed. Calls that the restored database does not know any
more are gone: their tasks are answered as unknown.`;

/** `reconcile`: what has to be looked into before a database that may have lost rows is worked with again. */
export function reconcileCommand(io: Io): Command {
  return new Command('reconcile')
    .description('hold the open calls of a restored database against what Temporal remembers of them')
    .requiredOption('--after-restore', 'what to do (there is nothing else yet)')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', AFTER_HELP)
    .action(async (options: ReconcileOptions, command: Command) => {
      const { config } = readConfig(io, command);
      const { databaseUrl } = io.environment;
      const address = config.temporal.address;
      if (databaseUrl === undefined) throw new CliError('DATABASE_URL is not set; it names the restored database');
      if (address === undefined) throw new CliError('TEMPORAL_ADDRESS is not set; Temporal is the witness');
      const engine = createTemporalClient({ ...config.temporal, address });
      try {
        const result = await reconcileAfterRestore(databaseUrl, engine.client, {
          retentionMs: config.gateway.resultRetentionSeconds * 1_000,
          onProgress: (done, of) => {
            if (done % 100 === 0 || done === of) io.err(`${done} of ${of} open calls`);
          },
        });
        io.out(options.json ? json(result) : told(result));
      } finally {
        await engine.close();
      }
    });
}

function told({ epoch, open, settled, ended, withoutWitness }: Reconciled): string {
  return [
    `Epoch ${epoch}. ${open} open calls were looked at.`,
    `${settled} may have run after the backup was made: they ended as outcome_unknown and will not run again.`,
    `${ended} had ended after the backup was made, without running: they ended as denied.`,
    `${withoutWitness} are unknown to Temporal; they go on from what the database knows.`,
    'Executions are possible again. Start gateway and worker.',
  ].join('\n');
}

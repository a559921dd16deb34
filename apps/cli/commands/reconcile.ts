import type { Client as Engine } from '@temporalio/client';
import { Command, Option } from 'commander';
import { Client } from 'pg';
import { type Logger, pino } from 'pino';
import { claimIdOf } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import { systemClock } from '../../shared/clock.ts';
import { logTransitions } from '../../shared/database/transitions.ts';
import { limitsOf, type Timing } from '../../shared/limits.ts';
import { sha256 } from '../../shared/crypto.ts';
import { createTemporalClient } from '../../shared/temporal/connection.ts';
import { askWitness, createEngineMemory, type Witness } from '../../shared/temporal/fence-mark.ts';
import { CliError, type Io, json, readConfig } from '../context.ts';

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

/** What was found, in numbers of open calls. */
interface Reconciled {
  readonly epoch: number;
  readonly open: number;
  /** They may have run, as far as can be told: they ended as `outcome_unknown`. */
  readonly settled: number;
  /** They had ended without execution before the rows of that were lost: they ended as denied. */
  readonly ended: number;
  /** Of those that were settled: the engine has no history of them, or was lost itself. */
  readonly withoutWitness: number;
}

interface OpenCall {
  readonly id: string;
  readonly state: GatedCallState;
  readonly generation: number;
  readonly has_permit: boolean;
}

const OPEN = `
  SELECT g.id, g.state, g.generation, i.gated_call_id IS NOT NULL AS has_permit
  FROM gateway.gated_call g LEFT JOIN gateway.invocation i ON i.gated_call_id = g.id
  WHERE g.ended_at IS NULL ORDER BY g.created_at, g.id`;

interface ReconcileOptions extends Timing {
  readonly databaseUrl: string;
  /** Temporal, whose histories go on to where everything stopped. Undefined: they were lost too. */
  readonly engine: Engine | undefined;
  readonly retentionMs: number;
  readonly onProgress: (done: number, of: number) => void;
  /** Gets a line for each change of state. */
  readonly log: Logger;
}

/**
 * Holds every open call of a database that may have lost rows against what the engine remembers, while nothing can be
 * executed. A call that may have run ends as `outcome_unknown`, one that had ended as denied; the others go on. Without an
 * engine to ask, each may have run. Stops frozen when anything fails: then nothing runs until it was run again to its end.
 * Throws a `CliError`, and leaves everything frozen, when the engine was lost as well and is asked all the same.
 */
export async function reconcileAfterRestore(options: ReconcileOptions): Promise<Reconciled> {
  const { databaseUrl, engine, retentionMs, onProgress, log } = options;
  const database = new Client({ connectionString: databaseUrl, application_name: 'countersign reconcile' });
  await database.connect();
  try {
    let epoch = await freeze(database, 0);
    if (engine !== undefined)
      epoch = await freeze(database, await epochIn(database, { engine, known: epoch }, options));
    const { rows: open } = await database.query<OpenCall>(OPEN);
    const end = (text: string, values: unknown[]) => logTransitions(database, log, () => database.query(text, values));
    const counts = { settled: 0, ended: 0, withoutWitness: 0 };
    for (const [index, call] of open.entries()) {
      const witness = engine === undefined ? 'unknown' : await askWitness(engine, call.id);
      const verdict = verdictOn(call, witness);
      if (verdict === 'settle') {
        const claimId = claimIdOf(call.id, call.generation, sha256);
        await end('SELECT gateway.settle_restored($1, $2, $3)', [call.id, claimId, retentionMs]);
        counts.settled += 1;
        if (witness === 'unknown') counts.withoutWitness += 1;
      } else if (verdict === 'end') {
        await end(`SELECT gateway.end_unclaimed($1, 'denied', 'restored', 'restore', $2)`, [call.id, retentionMs]);
        counts.ended += 1;
      }
      onProgress(index + 1, open.length);
    }
    if (engine !== undefined) await tell(engine, database, options);
    await liftFence(database);
    return { epoch, open: open.length, ...counts };
  } finally {
    await database.end();
  }
}

/**
 * What is to become of a call. A permit on record says more than the engine can: nothing is sent again, and at the execution
 * deadline the outcome is unknown. Without one, a claim is no proof that nothing was sent, since the permit may be among the
 * lost rows. Where the engine has no history of a call, nothing tells what became of it since the backup.
 */
function verdictOn({ has_permit }: OpenCall, witness: Witness): 'go on' | 'settle' | 'end' {
  if (has_permit) return 'go on';
  if (witness === 'claimed' || witness === 'unknown') return 'settle';
  return witness === 'ended' ? 'end' : 'go on';
}

async function freeze(database: Client, known: number): Promise<number> {
  const { rows } = await database.query<{ epoch: number }>('SELECT gateway.freeze($1) AS epoch', [known]);
  const [row] = rows;
  if (row === undefined)
    throw new CliError('the table gateway.epoch has no row, so the backup is not complete. Restore it again');
  return row.epoch;
}

/**
 * The epoch that the engine knows. One that was restored or emptied as well remembers no more than the database, and would
 * let calls run again: it is refused where that shows.
 */
async function epochIn(
  database: Client,
  { engine, known }: { readonly engine: Engine; readonly known: number },
  time: Timing,
): Promise<number> {
  const { rows } = await database.query<{ installation: string }>('SELECT installation FROM gateway.epoch');
  const mark = await createEngineMemory(engine, time).readMark(rows[0]?.installation ?? '');
  if (mark !== undefined && mark.epoch >= known - 1) return mark.epoch;
  const found =
    mark === undefined
      ? 'Temporal has no mark of this installation: it was emptied, replaced, or is another one'
      : 'Temporal is older than the database: it was restored too';
  throw new CliError(`${found}. Name the right one, or end what it cannot tell with \`--temporal lost\``);
}

/** Tells the engine of the epoch, so that it is as good a witness as before when this is run again, with no worker in between. */
async function tell(engine: Engine, database: Client, time: Timing): Promise<void> {
  const { rows } = await database.query<{ installation: string; epoch: number; claims: number }>(
    // Of a database that is frozen this only answers the mark as it is to be.
    `SELECT e.installation, mark.epoch, mark.claims::float8 AS claims
     FROM gateway.epoch e, gateway.hold_against(NULL, NULL) AS mark`,
  );
  const memory = createEngineMemory(engine, time);
  for (const { installation, ...mark } of rows) await memory.writeMark(installation, mark);
}

/** Writes the two rows of the fence in transactions that are no neighbours, as it has to be, and allows executions. */
async function liftFence(database: Client): Promise<void> {
  for (const text of ['SELECT gateway.stamp(1)', 'SELECT pg_current_xact_id()', 'SELECT gateway.stamp(2)'])
    await database.query(text);
  await database.query('SELECT gateway.thaw()');
}

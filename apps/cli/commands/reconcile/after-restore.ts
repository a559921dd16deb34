import { randomUUID } from 'node:crypto';
import type { Client as Engine } from '@temporalio/client';
import type { Client } from 'pg';
import type { Logger } from 'pino';
import { withClient } from '../../../shared/database/client.ts';
import { logTransitions } from '../../../shared/database/transitions.ts';
import type { Timing } from '../../../shared/limits.ts';
import { askWitness, createEngineMemory, type Witness } from '../../../shared/temporal/fence-mark.ts';
import { CliError } from '../../context.ts';

interface OpenCall {
  readonly id: string;
  readonly has_permit: boolean;
}

const OPEN = `
  SELECT g.id, i.gated_call_id IS NOT NULL AS has_permit
  FROM gateway.gated_call g LEFT JOIN gateway.invocation i ON i.gated_call_id = g.id
  WHERE g.ended_at IS NULL ORDER BY g.created_at, g.id`;

interface ReconcileOptions extends Timing {
  readonly databaseUrl: string;
  /** Temporal with its complete histories. Undefined if these are lost too. */
  readonly engine: Engine | undefined;
  readonly retentionMs: number;
  readonly onProgress: (done: number, of: number) => void;
  /** Gets a line for each change of state. */
  readonly log: Logger;
}

export type Reconciled = Awaited<ReturnType<typeof reconcileAfterRestore>>;

/**
 * Compares every open call of a database that may have lost rows with the histories of the engine, while nothing can be executed. A
 * call that may have run ends as `outcome_unknown`. A call that had ended without execution ends as denied. The others go on. Without
 * an engine, every call may have run. After any failure everything stays frozen until a run succeeds. Throws a `CliError`, and leaves
 * everything frozen, if the histories of a given engine are lost too.
 *
 * Returns numbers of open calls. `withoutWitness` counts the `settled` calls without a history.
 */
export async function reconcileAfterRestore(options: ReconcileOptions) {
  const { databaseUrl, engine, retentionMs, onProgress, log } = options;
  const session = { connectionString: databaseUrl, application_name: 'countersign reconcile' };
  return withClient(session, async (database) => {
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
        await end('SELECT gateway.settle_restored($1, $2, $3)', [call.id, randomUUID(), retentionMs]);
        counts.settled += 1;
        if (witness === 'unknown') counts.withoutWitness += 1;
      } else if (verdict === 'end') {
        await end(`SELECT gateway.end_unclaimed($1, 'denied', 'restored', 'restore', $2)`, [call.id, retentionMs]);
        counts.ended += 1;
      }
      onProgress(index + 1, open.length);
    }
    if (engine !== undefined) await writeMark(engine, database, options);
    await liftFence(database);
    return { epoch, open: open.length, ...counts };
  });
}

/**
 * Decides the fate of a call. A recorded permit is enough: the worker sends nothing again, and the outcome is unknown at the execution
 * deadline. Without a permit, a claimed call may have been sent, because the permit may be among the lost rows. Without a history, the
 * fate of a call since the backup is unknown.
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
    throw new CliError('the table gateway.epoch has no row, so the backup is not complete. Restore a complete backup');
  return row.epoch;
}

/**
 * The epoch that the engine knows. An engine that was restored or emptied too knows no more than the database, and would let calls run
 * again. It is refused as far as the epoch shows this.
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
      ? 'Temporal has no mark of this installation: it was emptied or replaced, or it is another Temporal'
      : 'Temporal is older than the database: it was restored too';
  throw new CliError(`${found}. Set TEMPORAL_ADDRESS to the right one, or end all open calls with \`--temporal lost\``);
}

/** Writes the epoch to the engine, so that a repeated run without a worker in between finds it there. */
async function writeMark(engine: Engine, database: Client, time: Timing): Promise<void> {
  const { rows } = await database.query<{ installation: string; epoch: number; claims: number }>(
    // For a frozen database this query only returns the next mark.
    `SELECT e.installation, mark.epoch, mark.claims::float8 AS claims
     FROM gateway.epoch e, gateway.hold_against(NULL, NULL) AS mark`,
  );
  const memory = createEngineMemory(engine, time);
  for (const { installation, ...mark } of rows) await memory.writeMark(installation, mark);
}

/** Writes the two rows of the fence, and allows executions. The rows need transactions that do not follow each other directly. */
async function liftFence(database: Client): Promise<void> {
  for (const text of ['SELECT gateway.stamp(1)', 'SELECT pg_current_xact_id()', 'SELECT gateway.stamp(2)'])
    await database.query(text);
  await database.query('SELECT gateway.thaw()');
}

import type { Client as Engine } from '@temporalio/client';
import { Client } from 'pg';
import { claimIdOf } from '../../../../workflows/domain/gated-call/claim-id.ts';
import type { GatedCallState } from '../../../../workflows/domain/gated-call/gated-call.ts';
import { sha256 } from '../../../shared/sha256.ts';
import { askWitness, type Witness } from './witness.ts';

/** What was found, in numbers of open calls. */
export interface Reconciled {
  readonly epoch: number;
  readonly open: number;
  /** They may have run: they ended as `outcome_unknown`. */
  readonly settled: number;
  /** They had ended without execution before the rows of that were lost: they ended as denied. */
  readonly ended: number;
  /** The engine knows nothing of them. What was claimed or ended and forgotten by both cannot be told. */
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

/**
 * Holds every open call of a database that may have lost rows against what the engine remembers, while nothing can be
 * executed. A call that may have run ends as `outcome_unknown`, one that had ended as denied; the others go on. Stops
 * frozen when anything fails: then nothing runs until it was run again to its end.
 */
export async function reconcileAfterRestore(
  databaseUrl: string,
  engine: Engine,
  { retentionMs, onProgress }: { retentionMs: number; onProgress: (done: number, of: number) => void },
): Promise<Reconciled> {
  const database = new Client({ connectionString: databaseUrl, application_name: 'countersign reconcile' });
  await database.connect();
  try {
    const frozen = await database.query<{ epoch: number }>('SELECT gateway.freeze() AS epoch');
    const { rows: open } = await database.query<OpenCall>(OPEN);
    const counts = { settled: 0, ended: 0, withoutWitness: 0 };
    for (const [index, call] of open.entries()) {
      const witness = await askWitness(engine, call.id);
      if (witness === 'unknown') counts.withoutWitness += 1;
      if (mayHaveRun(call, witness)) {
        const claimId = claimIdOf(call.id, call.generation, sha256);
        await database.query('SELECT gateway.settle_restored($1, $2, $3)', [call.id, claimId, retentionMs]);
        counts.settled += 1;
      } else if (witness === 'ended') {
        await database.query(`SELECT gateway.end_unclaimed($1, 'denied', 'restored', 'restore', $2)`, [
          call.id,
          retentionMs,
        ]);
        counts.ended += 1;
      }
      onProgress(index + 1, open.length);
    }
    await database.query('SELECT gateway.thaw()');
    return { epoch: frozen.rows[0]?.epoch ?? Number.NaN, open: open.length, ...counts };
  } finally {
    await database.end();
  }
}

/**
 * Whether the tool may have run. Where the permit is on record it tells more than the engine can, together with the
 * execution deadline. A claim without one is no proof that nothing was sent: the permit may be among the lost rows.
 */
function mayHaveRun({ state, has_permit }: OpenCall, witness: Witness): boolean {
  if (has_permit) return false;
  return witness === 'claimed' || (witness === 'unknown' && state === 'claimed');
}

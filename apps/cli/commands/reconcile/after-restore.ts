import type { Client as Engine } from '@temporalio/client';
import { Client } from 'pg';
import { claimIdOf } from '../../../../workflows/domain/gated-call/claim-id.ts';
import type { GatedCallState } from '../../../../workflows/domain/gated-call/gated-call.ts';
import { sha256 } from '../../../shared/sha256.ts';
import { askWitness } from './witness.ts';

/** What was found, in numbers of open calls. */
export interface Reconciled {
  readonly epoch: number;
  readonly open: number;
  /** The engine remembers them as claimed, the database did not: they ended as `outcome_unknown`. */
  readonly settled: number;
  /** The engine knows nothing of them. What was claimed and forgotten by both cannot be told. */
  readonly withoutWitness: number;
}

interface OpenCall {
  readonly id: string;
  readonly state: GatedCallState;
  readonly generation: number;
}

/**
 * Holds every open call of a database that may have lost rows against what the engine remembers, while nothing can be
 * executed. A call that may have run ends as `outcome_unknown`; the others go on. Stops frozen when anything fails: then
 * nothing runs until it was run again to its end.
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
    const { rows: open } = await database.query<OpenCall>(
      'SELECT id, state, generation FROM gateway.gated_call WHERE ended_at IS NULL ORDER BY created_at, id',
    );
    let settled = 0;
    let withoutWitness = 0;
    for (const [index, call] of open.entries()) {
      const witness = await askWitness(engine, call.id);
      if (witness === 'unknown') withoutWitness += 1;
      // Claimed in the database too: its own permit and deadline tell more than the engine can.
      if (witness === 'claimed' && call.state !== 'claimed') {
        const claimId = claimIdOf(call.id, call.generation, sha256);
        await database.query('SELECT gateway.settle_restored($1, $2, $3)', [call.id, claimId, retentionMs]);
        settled += 1;
      }
      onProgress(index + 1, open.length);
    }
    await database.query('SELECT gateway.thaw()');
    return { epoch: frozen.rows[0]?.epoch ?? Number.NaN, open: open.length, settled, withoutWitness };
  } finally {
    await database.end();
  }
}

import type { Pool } from 'pg';
import type { FenceMark, FenceState } from '../../workflows/domain/gated-call/fence.ts';
import { callFunction, queryOne } from './query.ts';

/** The fence that stops all executions after the database lost rows that were committed. */
export function createFence(pool: Pool) {
  return {
    read: (): Promise<{ state: FenceState; installation: string }> =>
      queryOne(pool, 'fence', 'SELECT gateway.fence_state() AS state, installation FROM gateway.epoch'),

    /** Compares the database with the mark that the engine has of it; answers the state, and the new mark. */
    holdAgainst: (mark: FenceMark | undefined): Promise<FenceMark & { readonly state: FenceState }> =>
      queryOne(
        pool,
        'hold-against',
        'SELECT state, epoch, claims::float8 AS claims FROM gateway.hold_against($1, $2)',
        [mark?.epoch ?? null, mark?.claims ?? null],
      ),

    /** Stops all executions, because the engine was further with an open call than its row is. */
    suspend: (): Promise<void> => callFunction(pool, 'suspend', { found: 'call_ran' }),
  };
}

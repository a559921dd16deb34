import type { Pool } from 'pg';
import { query } from './query.ts';
import { WITHOUT_FLUSH } from './step-context.ts';

/**
 * Looks for resolutions of which no word came, by the database's clock. Durations in milliseconds. What a crash of the
 * database takes back is looked at once more.
 */
export function createDueLooks(pool: Pool, { minMs, maxMs }: { minMs: number; maxMs: number }) {
  return {
    /** Takes calls that await a resolution and whose look is due; their next one comes after a pause. */
    async take(limit: number): Promise<string[]> {
      const text = `SELECT id FROM ${WITHOUT_FLUSH}, gateway.take_looks($1, $2, $3) AS id`;
      return (await query<{ id: string }>(pool, 'take-looks', text, [limit, minMs, maxMs])).map(({ id }) => id);
    },
    /** No look at this call before so long has passed. */
    async deferPoll(gatedCallId: string, ms: number): Promise<void> {
      await query(pool, 'defer-poll', `SELECT gateway.defer_poll($1, $2) FROM ${WITHOUT_FLUSH}`, [gatedCallId, ms]);
    },
    /** Has the workflow of the call look for itself. */
    async enqueueSignal(gatedCallId: string): Promise<void> {
      await query(pool, 'enqueue-signal', 'SELECT gateway.enqueue_signal($1)', [gatedCallId]);
    },
  };
}

import type { Pool } from 'pg';
import { query } from './query.ts';
import { WITHOUT_FLUSH } from './step-context.ts';

/**
 * When to ask for resolutions of which no word came, by the database's clock. Durations in milliseconds. What a crash of the
 * database takes back is polled once more.
 */
export function createDuePolls(pool: Pool, { minMs, maxMs }: { minMs: number; maxMs: number }) {
  return {
    /** Takes calls that await a resolution and whose poll is due; their next one comes after a pause. */
    async take(limit: number): Promise<string[]> {
      const text = `SELECT id FROM ${WITHOUT_FLUSH}, gateway.take_polls($1, $2, $3) AS id`;
      return (await query<{ id: string }>(pool, 'take-polls', text, [limit, minMs, maxMs])).map(({ id }) => id);
    },
    /** Does not poll this call before so long has passed. */
    async deferPoll(gatedCallId: string, ms: number): Promise<void> {
      await query(pool, 'defer-poll', `SELECT gateway.defer_poll($1, $2) FROM ${WITHOUT_FLUSH}`, [gatedCallId, ms]);
    },
    /** Has the workflow of the call signalled, which reads the resolution for itself. */
    async enqueueSignal(gatedCallId: string): Promise<void> {
      await query(pool, 'enqueue-signal', 'SELECT gateway.enqueue_signal($1)', [gatedCallId]);
    },
  };
}

import type { Pool } from 'pg';
import { query, queryOne } from './query.ts';

// now() is fixed for a statement, so an index can be searched for it.
const DUE = 'SELECT id FROM gateway.gated_call WHERE due_at <= now() ORDER BY due_at, id LIMIT $1 OFFSET $2';

const ABANDONED = `
  SELECT id FROM gateway.gated_call g WHERE state = 'preparing' AND created_at < now() - $1 * interval '1 ms'
    AND NOT EXISTS (SELECT 1 FROM gateway.submission s WHERE s.gated_call_id = g.id AND s.lease_until > now())
  ORDER BY created_at LIMIT $2`;

/** What time has done to calls, by the database's clock: ids of those whose deadline has passed, and of creations that nobody is at any more. */
export function createDueCalls(pool: Pool) {
  const ids = async (name: string, text: string, values: unknown[]) =>
    (await query<{ id: string }>(pool, name, text, values)).map((row) => row.id);
  return {
    /** The first `skipped` are left out: those that could not be ended a moment ago. */
    due: (limit: number, skipped = 0) => ids('due-calls', DUE, [limit, skipped]),
    abandoned: (olderThanMs: number, limit: number) => ids('abandoned-calls', ABANDONED, [olderThanMs, limit]),
    /** Forgets what calls past their retention consisted of; answers how many. */
    async forget(limit: number) {
      const row = await queryOne<{ count: number }>(pool, 'forget', 'SELECT gateway.forget_ended($1) AS count', [
        limit,
      ]);
      return row.count;
    },
  };
}

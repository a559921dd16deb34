import type { Pool } from 'pg';
import { query } from './query.ts';

const DUE = `
  SELECT id FROM gateway.gated_call
  WHERE ended_at IS NULL AND clock_timestamp() >= CASE state WHEN 'claimed' THEN execution_deadline
    WHEN 'granted' THEN least(request_deadline, approval_expires_at) ELSE request_deadline END
  ORDER BY request_deadline LIMIT $1`;

const ABANDONED = `
  SELECT id FROM gateway.gated_call
  WHERE ended_at IS NULL AND state = 'preparing' AND created_at < clock_timestamp() - $1 * interval '1 ms'
  ORDER BY created_at LIMIT $2`;

/** Ids of calls whose deadline has passed, and of creations that nobody finished, by the database's clock. */
export function createDueCalls(pool: Pool) {
  const ids = async (name: string, text: string, values: unknown[]) =>
    (await query<{ id: string }>(pool, name, text, values)).map((row) => row.id);
  return {
    due: (limit: number) => ids('due-calls', DUE, [limit]),
    abandoned: (olderThanMs: number, limit: number) => ids('abandoned-calls', ABANDONED, [olderThanMs, limit]),
  };
}

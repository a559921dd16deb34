import type { Pool } from 'pg';

/** An hour of waiting, at once: every instant is moved, and no test waits for one. */
export const INSTANTS = {
  'the request deadline passes': `UPDATE gateway.gated_call
    SET request_deadline = clock_timestamp(), latest_deadline = clock_timestamp() WHERE id = $1 AND ended_at IS NULL`,
  'the approval runs out': `WITH over AS (UPDATE gateway.approval SET approved_until = least(approved_until, clock_timestamp())
      WHERE gated_call_id = $1)
    UPDATE gateway.gated_call SET approval_expires_at = clock_timestamp()
      WHERE id = $1 AND ended_at IS NULL AND approval_expires_at > clock_timestamp()`,
  'the execution deadline passes': `UPDATE gateway.gated_call SET execution_deadline = clock_timestamp()
    WHERE id = $1 AND ended_at IS NULL AND execution_deadline > clock_timestamp()`,
  // The submission existed before the decision, and still does.
  'six seconds pass': `WITH earlier AS (UPDATE gateway.submission SET created_at = created_at - interval '6 s' WHERE gated_call_id = $1)
    UPDATE gateway.decision d SET evaluated_at = evaluated_at - interval '6 s' WHERE gated_call_id = $1
      AND NOT EXISTS (SELECT 1 FROM gateway.execution_claim e WHERE e.decision_id = d.id)`,
  'the lease runs out': 'UPDATE gateway.submission SET lease_until = clock_timestamp() WHERE gated_call_id = $1',
} as const;

export type Instant = keyof typeof INSTANTS;

/** Only without the fences can rows be made older. */
export async function pass(pool: Pool, instant: Instant, gatedCallId: string): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN; SET LOCAL session_replication_role = replica');
    await client.query(INSTANTS[instant], [gatedCallId]);
    await client.query('COMMIT');
  } finally {
    client.release();
  }
}

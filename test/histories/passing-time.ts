import type { Pool } from 'pg';

/** An hour of waiting, at once: every instant is moved, and no test waits for one. */
export const INSTANTS = {
  'the request deadline passes': `UPDATE gateway.gated_call
    SET request_deadline = clock_timestamp() WHERE id = $1 AND ended_at IS NULL`,
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

/** Makes a grant and its uses older. */
export const passGrant = (pool: Pool, id: string, seconds: number): Promise<void> =>
  withoutFences(
    pool,
    `WITH used AS (UPDATE approvals.grant_use SET at = at - $2 * interval '1 s', expires_at = expires_at - $2 * interval '1 s'
       WHERE grant_id = $1)
     UPDATE approvals."grant" SET created_at = created_at - $2 * interval '1 s', expires_at = expires_at - $2 * interval '1 s' WHERE id = $1`,
    [id, seconds],
  );

export type Instant = keyof typeof INSTANTS;

export const pass = (pool: Pool, instant: Instant, gatedCallId: string): Promise<void> =>
  withoutFences(pool, INSTANTS[instant], [gatedCallId]);

/** Only without the fences can rows be made older. */
async function withoutFences(pool: Pool, text: string, values: readonly unknown[]): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN; SET LOCAL session_replication_role = replica');
    await client.query(text, [...values]);
    await client.query('COMMIT');
  } finally {
    client.release();
  }
}

import type { Pool } from 'pg';

/**
 * Ended requests, written past the fences. Request `n` of `count` ended 20 `n` seconds ago and was open for `n` % 997 seconds. Every seventh
 * was denied, every hundredth was decided by a program, and the others by `person0` to `person49`. They opened the page `n` % 60 seconds
 * before. There are 40 tools, 60 rules, and the rule `usual` of all that were approved.
 */
export async function manyEnded(pool: Pool, count: number): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN; SET LOCAL session_replication_role = replica; SET LOCAL statement_timeout = 0');
    const ended = `now() - n * interval '20 s'`;
    await client.query({
      text: `INSERT INTO approvals.access_request (id, client_id, submitted_by, body_digest, evaluation_id, token_jti, subject, action,
          resource, context, claimed, tool, template, policies, requester_subject, requester_client, generation, call_digest, binding_hash,
          binding_context_members, parties, stages, separate_stages, approval_ms, notified, status, created_at, expires_at, ended_at, keep_ms,
          approval_id, approved_at, approved_until)
        SELECT 'arq_many' || n, 'g', 'g', 'd', 'e' || n, 'j' || n, '{}', '{}', '{}', '{}', '{}', 'tool__' || n % 40, 'template' || n % 5,
          ARRAY['rule ' || n % 60] || CASE WHEN n % 7 > 0 THEN ARRAY['usual'] ELSE '{}' END, 'r', 'c', 1, 'd', 'h', '{}', '{r}',
          '[{"name":"one","approvers":{"roles":["approver"]},"quorum":1}]', true, 1, false, CASE WHEN n % 7 = 0 THEN 'denied' ELSE 'approved' END,
          ${ended} - (n % 997) * interval '1 s', now(), ${ended}, 86400000,
          CASE WHEN n % 7 > 0 THEN 'apr_' || n END, CASE WHEN n % 7 > 0 THEN now() END, CASE WHEN n % 7 > 0 THEN now() + interval '1 h' END
        FROM generate_series(1, $1::int) AS n ON CONFLICT DO NOTHING`,
      values: [count],
    });
    await client.query({
      text: `INSERT INTO approvals.vote (access_request_id, stage, counts_in, approver_issuer, approver_subject, approver_roles, cast_by, actors,
          names, verdict, call_digest, via, at)
        SELECT 'arq_many' || n, 1, 0, 'i', CASE WHEN n % 100 = 0 THEN 'automatic:r' ELSE 'person' || n % 50 END, '{}',
          CASE WHEN n % 100 = 0 THEN 'automatic:r' ELSE 'person' || n % 50 END, '{}',
          ARRAY[CASE WHEN n % 100 = 0 THEN 'automatic:r' ELSE 'person' || n % 50 END],
          CASE WHEN n % 7 = 0 THEN 'deny' ELSE 'approve' END, 'd', CASE WHEN n % 100 = 0 THEN 'automatic' ELSE 'inbox' END, ${ended}
        FROM generate_series(1, $1::int) AS n ON CONFLICT DO NOTHING`,
      values: [count],
    });
    await client.query({
      text: `INSERT INTO approvals.page_opening (access_request_id, subject, at)
        SELECT 'arq_many' || n, 'person' || n % 50, ${ended} - (n % 60) * interval '1 s' FROM generate_series(1, $1::int) AS n ON CONFLICT DO NOTHING`,
      values: [count],
    });
    await client.query('COMMIT; ANALYZE approvals.access_request, approvals.vote, approvals.page_opening');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

import type { Invariant } from './invariant.ts';

const ENDS = `('executed','execution_error','outcome_unknown','denied','cancelled','failed')`;

/** An end is final and recorded, and the events tell the whole life. */
export const RECORDS: readonly Invariant[] = [
  {
    name: 'a call ends once, and its end is its last event',
    sql: `SELECT g.id, g.state FROM gateway.gated_call g
      LEFT JOIN gateway.call_event e ON e.gated_call_id = g.id AND e.to_state IN ${ENDS}
      GROUP BY g.id HAVING count(e.seq) <> (CASE WHEN g.state IN ${ENDS} THEN 1 ELSE 0 END)
        OR max(e.seq) <> g.state_version OR (g.state IN ${ENDS}) <> (g.ended_at IS NOT NULL)`,
  },
  {
    name: 'every version of a call has one event, and the last event has its state',
    sql: `SELECT g.id FROM gateway.gated_call g LEFT JOIN gateway.call_event e ON e.gated_call_id = g.id
      GROUP BY g.id HAVING count(e.seq) <> g.state_version OR min(e.seq) <> 1 OR max(e.seq) <> g.state_version
        OR max(e.to_state) FILTER (WHERE e.seq = g.state_version) IS DISTINCT FROM g.state`,
  },
  {
    name: 'every event follows the one before it by the table of transitions',
    sql: `SELECT s.gated_call_id, s.seq, s.from_state, s.to_state FROM (
        SELECT gated_call_id, seq, to_state, at, lag(to_state) OVER life AS from_state, lag(at) OVER life AS at_before
        FROM gateway.call_event WINDOW life AS (PARTITION BY gated_call_id ORDER BY seq)) s
      WHERE CASE WHEN s.from_state IS NULL THEN s.to_state <> 'preparing'
        ELSE s.at < s.at_before OR NOT EXISTS (
          SELECT 1 FROM gateway.transition t WHERE t.from_state = s.from_state AND t.to_state = s.to_state) END`,
  },
  {
    name: 'every ended call has one outcome record with its state, and no open call has any',
    sql: `SELECT g.id, g.state FROM gateway.gated_call g LEFT JOIN gateway.outcome_record o ON o.gated_call_id = g.id
      GROUP BY g.id HAVING count(o.outcome_ref) <> (CASE WHEN g.state IN ${ENDS} THEN 1 ELSE 0 END)
        OR max(o.state) <> g.state`,
  },
  {
    name: 'the seal of an outcome record is that of its text',
    sql: `SELECT outcome_ref FROM gateway.outcome_record
      WHERE digest <> 'sha-256:' || encode(sha256(convert_to(body, 'UTF8')), 'hex')`,
  },
  {
    name: 'an ended call is kept for its result to be read',
    sql: 'SELECT id FROM gateway.gated_call WHERE ended_at IS NOT NULL AND retain_until <= ended_at',
  },
  {
    name: 'a call is forgotten after its retention time, and then completely',
    sql: `SELECT g.id FROM gateway.gated_call g LEFT JOIN gateway.data_key k ON k.gated_call_id = g.id
      WHERE CASE WHEN g.forgotten_at IS NULL THEN k.call_key IS NULL
        ELSE g.ended_at IS NULL OR g.forgotten_at < g.retain_until OR k.call_key IS NOT NULL
          OR EXISTS (SELECT 1 FROM gateway.call_binding b WHERE b.gated_call_id = g.id)
          OR EXISTS (SELECT 1 FROM gateway.submission s WHERE s.gated_call_id = g.id)
          OR EXISTS (SELECT 1 FROM gateway.approval a WHERE a.gated_call_id = g.id)
          OR EXISTS (SELECT 1 FROM gateway.call_result r WHERE r.gated_call_id = g.id)
          OR EXISTS (SELECT 1 FROM gateway.late_evidence l WHERE l.gated_call_id = g.id) END`,
  },
  {
    name: 'a caller has one open call for the same tool and arguments, and shares it with no other caller',
    sql: `SELECT dedup_key FROM gateway.gated_call WHERE ended_at IS NULL GROUP BY dedup_key HAVING count(*) > 1
      UNION ALL SELECT dedup_key FROM gateway.gated_call GROUP BY dedup_key HAVING count(DISTINCT owner_key) > 1`,
  },
  {
    name: 'every task given to a client exists, with its access request while it is open',
    needs: 'seenTaskIds',
    sql: `SELECT t.task_id FROM seen_task t LEFT JOIN gateway.gated_call g USING (task_id)
      LEFT JOIN gateway.submission s ON s.gated_call_id = g.id AND s.generation = 1
      WHERE g.id IS NULL OR g.state = 'preparing' OR (g.ended_at IS NULL AND s.access_request_key IS NULL)`,
  },
];

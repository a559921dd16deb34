import type { Invariant } from './invariant.ts';

/** The basis of claims and permits, and the statements of an end about them. */
export const EXECUTION: readonly Invariant[] = [
  {
    name: 'a claim rests on an allow decision for exactly this call, at most five seconds old',
    sql: `SELECT e.gated_call_id FROM gateway.execution_claim e
      LEFT JOIN gateway.decision d ON d.id = e.decision_id
      LEFT JOIN gateway.call_binding b ON b.gated_call_id = e.gated_call_id
      JOIN gateway.gated_call g ON g.id = e.gated_call_id AND g.forgotten_at IS NULL
      WHERE (d.gated_call_id = e.gated_call_id AND d.generation = e.generation AND d.kind = 'allow'
        AND d.call_digest = b.call_digest AND d.evaluated_at <= e.claimed_at
        AND e.claimed_at - d.evaluated_at <= interval '5 s') IS NOT TRUE`,
  },
  {
    name: 'a claim rests on an approval of its generation that was valid',
    sql: `SELECT e.gated_call_id FROM gateway.execution_claim e
      LEFT JOIN gateway.approval a USING (gated_call_id, generation)
      JOIN gateway.gated_call g ON g.id = e.gated_call_id AND g.forgotten_at IS NULL
      WHERE (a.approved_until > e.claimed_at) IS NOT TRUE`,
  },
  {
    name: 'a call is claimed before its approval ends',
    sql: `SELECT g.id, e.claimed_at, g.approval_expires_at
      FROM gateway.execution_claim e JOIN gateway.gated_call g ON g.id = e.gated_call_id
      WHERE e.released_at IS NULL AND (e.claimed_at < g.approval_expires_at) IS NOT TRUE`,
  },
  {
    name: 'an approval is used for one claim',
    sql: `SELECT a.approval_key FROM gateway.approval a JOIN gateway.execution_claim e USING (gated_call_id, generation)
      WHERE e.released_at IS NULL GROUP BY a.approval_key HAVING count(*) > 1`,
  },
  {
    name: 'a decision is used for one claim',
    sql: 'SELECT decision_id FROM gateway.execution_claim GROUP BY decision_id HAVING count(*) > 1',
  },
  {
    name: 'a call has a claim exactly in the states that need one, and names that claim',
    sql: `SELECT g.id, g.state, g.claim_id, e.claim_id FROM gateway.gated_call g
      LEFT JOIN gateway.execution_claim e ON e.gated_call_id = g.id AND e.released_at IS NULL
      WHERE (g.state IN ('claimed','executed','execution_error','outcome_unknown')) <> (e.claim_id IS NOT NULL)
        OR g.claim_id IS DISTINCT FROM e.claim_id`,
  },
  {
    name: 'a call is claimed and permitted once',
    sql: `SELECT gated_call_id FROM gateway.execution_claim WHERE released_at IS NULL GROUP BY gated_call_id HAVING count(*) > 1
      UNION ALL SELECT gated_call_id FROM gateway.invocation GROUP BY gated_call_id HAVING count(*) > 1`,
  },
  {
    name: 'a permit is given after the claim and before the execution deadline',
    sql: `SELECT i.gated_call_id FROM gateway.invocation i LEFT JOIN gateway.execution_claim e USING (gated_call_id, claim_id)
      LEFT JOIN gateway.gated_call g ON g.id = i.gated_call_id
      WHERE (i.began_at >= e.claimed_at AND i.began_at < g.execution_deadline) IS NOT TRUE`,
  },
  {
    name: 'a claim that was given up has no permit',
    sql: `SELECT e.claim_id FROM gateway.execution_claim e JOIN gateway.invocation i USING (claim_id) WHERE e.released_at IS NOT NULL`,
  },
  {
    name: 'a result exists only with a used permit',
    sql: `SELECT r.gated_call_id FROM gateway.call_result r LEFT JOIN gateway.invocation i USING (gated_call_id)
      WHERE i.gated_call_id IS NULL OR i.not_sent_at IS NOT NULL`,
  },
  {
    name: 'an executed call has a result that is not an error',
    sql: `SELECT g.id FROM gateway.gated_call g LEFT JOIN gateway.call_result r ON r.gated_call_id = g.id
      WHERE g.state = 'executed' AND g.forgotten_at IS NULL AND r.is_error IS DISTINCT FROM false`,
  },
  {
    name: 'an execution error has a result that says so, or nothing was sent',
    sql: `SELECT g.id FROM gateway.gated_call g LEFT JOIN gateway.call_result r ON r.gated_call_id = g.id
      LEFT JOIN gateway.invocation i ON i.gated_call_id = g.id
      WHERE g.state = 'execution_error' AND g.forgotten_at IS NULL AND CASE WHEN r.gated_call_id IS NOT NULL THEN NOT r.is_error
        ELSE i.gated_call_id IS NOT NULL AND i.not_sent_at IS NULL END`,
  },
  {
    name: 'an unknown outcome has a permit, no result, and lasted until the execution deadline',
    sql: `SELECT g.id FROM gateway.gated_call g LEFT JOIN gateway.invocation i ON i.gated_call_id = g.id
      LEFT JOIN gateway.call_result r ON r.gated_call_id = g.id
      WHERE g.state = 'outcome_unknown' AND (i.gated_call_id IS NULL OR i.not_sent_at IS NOT NULL
        OR r.gated_call_id IS NOT NULL OR g.ended_at < g.execution_deadline)`,
  },
  {
    name: 'a late answer is kept beside its settled call, and changes nothing',
    sql: `SELECT l.gated_call_id FROM gateway.late_evidence l LEFT JOIN gateway.gated_call g ON g.id = l.gated_call_id
      LEFT JOIN gateway.call_event e ON e.gated_call_id = g.id AND e.to_state = g.state AND e.cause = 'result'
      WHERE (l.recorded_at >= g.ended_at) IS NOT TRUE OR e.gated_call_id IS NOT NULL`,
  },
  {
    name: 'a claimed call is kept until its execution is over',
    sql: `SELECT id FROM gateway.gated_call
      WHERE claim_id IS NOT NULL AND (retain_until > coalesce(ended_at, execution_deadline)) IS NOT TRUE`,
  },
];

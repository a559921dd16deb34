import type { Invariant } from './invariant.ts';

/** Generations, their access requests, and the people who decided on those. */
export const REQUESTS: readonly Invariant[] = [
  {
    name: 'generations are counted from one without a gap, each with its submission',
    sql: `SELECT g.id, g.generation FROM gateway.gated_call g LEFT JOIN gateway.submission s ON s.gated_call_id = g.id
      WHERE g.forgotten_at IS NULL GROUP BY g.id HAVING count(s.id) <> g.generation OR min(s.generation) <> 1 OR max(s.generation) <> g.generation`,
  },
  {
    name: 'a claim is made in the generation the call is in',
    sql: `SELECT g.id FROM gateway.execution_claim e JOIN gateway.gated_call g ON g.id = e.gated_call_id
      WHERE e.generation <> g.generation`,
  },
  {
    name: 'no decision or approval belongs to a generation that has not begun',
    sql: `SELECT d.gated_call_id FROM gateway.decision d LEFT JOIN gateway.submission s USING (gated_call_id, generation)
      JOIN gateway.gated_call g ON g.id = d.gated_call_id AND g.forgotten_at IS NULL
      WHERE s.id IS NULL OR (d.kind <> 'requestable' AND d.evaluated_at < s.created_at)
      UNION ALL SELECT a.gated_call_id FROM gateway.approval a LEFT JOIN gateway.submission s USING (gated_call_id, generation)
      WHERE s.id IS NULL OR s.access_request_key IS NULL`,
  },
  {
    name: 'a call past the first generation was granted in each one before',
    sql: `SELECT s.gated_call_id, s.generation FROM gateway.submission s
      LEFT JOIN gateway.approval a ON a.gated_call_id = s.gated_call_id AND a.generation = s.generation - 1
      WHERE s.generation > 1 AND a.gated_call_id IS NULL`,
  },
  {
    name: 'a granted call has an approval of its generation',
    sql: `SELECT g.id FROM gateway.gated_call g LEFT JOIN gateway.approval a ON a.gated_call_id = g.id AND a.generation = g.generation
      WHERE g.state IN ('granted','input_required','claimed') AND a.gated_call_id IS NULL`,
  },
  {
    name: 'a call waits for input as long as one of its questions is open',
    sql: `SELECT g.id FROM gateway.gated_call g LEFT JOIN gateway.question q ON q.gated_call_id = g.id AND q.answered_at IS NULL
      WHERE g.ended_at IS NULL GROUP BY g.id HAVING (g.state = 'input_required') <> (count(q.key) > 0)`,
  },
  {
    name: 'a call whose task can be read has an access request',
    sql: `SELECT g.id FROM gateway.gated_call g JOIN gateway.submission s ON s.gated_call_id = g.id AND s.generation = 1
      WHERE g.state IN ('pending','input_required','granted','claimed') AND s.access_request_key IS NULL`,
  },
  {
    name: 'an access request belongs to one submission',
    sql: `SELECT access_request_key FROM gateway.submission WHERE access_request_key IS NOT NULL
      GROUP BY access_request_key HAVING count(*) > 1`,
  },
  {
    name: 'a call waits for one access request at a time',
    needs: 'keyed',
    sql: `SELECT s.gated_call_id FROM gateway.submission s JOIN service_request r ON r.key = s.access_request_key
      WHERE r.live GROUP BY s.gated_call_id HAVING count(*) > 1`,
  },
  {
    name: 'no approver is asked about a request that no call waits for',
    needs: 'quietForMs',
    sql: `SELECT r.key FROM service_request r LEFT JOIN gateway.submission s ON s.access_request_key = r.key
      LEFT JOIN gateway.gated_call g ON g.id = s.gated_call_id
      WHERE r.live AND (g.id IS NULL OR g.generation <> s.generation OR g.ended_at < (SELECT since FROM quiet))`,
  },
  {
    name: 'an access request is about the call that it was made for',
    needs: 'keyed',
    sql: `SELECT s.gated_call_id FROM gateway.submission s JOIN service_request r ON r.key = s.access_request_key
      JOIN gateway.call_binding b USING (gated_call_id)
      WHERE r.call_digest <> b.call_digest OR r.generation <> s.generation`,
  },
  {
    name: 'an approver decides on the call that the access request is about',
    sql: `SELECT v.access_request_id FROM approvals.vote v JOIN approvals.access_request r ON r.id = v.access_request_id
      WHERE v.call_digest <> r.call_digest`,
  },
  {
    name: 'an access request is approved by as many approvers as it needs, without a denial',
    sql: `SELECT r.id FROM approvals.access_request r LEFT JOIN approvals.vote v ON v.access_request_id = r.id
      WHERE r.status = 'approved' AND NOT EXISTS (SELECT FROM approvals.break_glass b WHERE b.access_request_id = r.id)
      GROUP BY r.id
      HAVING count(DISTINCT v.approver_subject) FILTER (WHERE v.verdict = 'approve' AND v.stage = r.stage)
          < (r.stages -> r.stage - 1 ->> 'quorum')::int
        OR count(*) FILTER (WHERE v.verdict = 'deny' AND (r.stages -> v.stage - 1 ->> 'veto')::boolean) > 0`,
  },
  {
    name: 'no person decides on their own request',
    sql: `SELECT r.id FROM approvals.vote v JOIN approvals.access_request r ON r.id = v.access_request_id
      WHERE v.names && r.parties`,
  },
  {
    name: 'a person has one vote where one counts, by any of their names',
    sql: `SELECT a.access_request_id FROM approvals.vote a JOIN approvals.vote b USING (access_request_id, counts_in)
      WHERE a.approver_subject < b.approver_subject AND a.names && b.names`,
  },
  {
    name: 'every verdict that came by webhook came in one message',
    sql: `SELECT votes, messages FROM (SELECT count(*) AS votes FROM approvals.vote WHERE via = 'webhook') v,
      (SELECT count(*) AS messages FROM approvals.decision_webhook_inbox WHERE outcome = 'counted') m
      WHERE votes <> messages`,
  },
];

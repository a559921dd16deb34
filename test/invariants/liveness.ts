import type { Invariant } from './invariant.ts';

/** Work that must be done once everything has worked for a while. */
export const LIVENESS: readonly Invariant[] = [
  {
    name: 'an open call has a deadline',
    sql: 'SELECT id, state FROM gateway.gated_call WHERE ended_at IS NULL AND due_at IS NULL',
  },
  {
    name: 'a call past its deadline has ended',
    needs: 'quietForMs',
    sql: `SELECT id, state, due_at FROM gateway.gated_call WHERE ended_at IS NULL AND due_at < (SELECT since FROM quiet)`,
  },
  {
    name: 'a granted call goes on while its approval is valid',
    needs: 'quietForMs',
    sql: `SELECT id, last_updated_at FROM gateway.gated_call
      WHERE state = 'granted' AND last_updated_at < (SELECT since FROM quiet)`,
  },
  {
    name: 'no process keeps the right to submit for longer than its lease',
    needs: 'quietForMs',
    sql: `SELECT g.id FROM gateway.gated_call g
      JOIN gateway.submission s ON s.gated_call_id = g.id AND s.generation = g.generation
      WHERE g.ended_at IS NULL AND s.access_request_key IS NULL AND s.lease_until < (SELECT since FROM quiet)`,
  },
  {
    name: 'outside work is carried out',
    needs: 'quietForMs',
    sql: `SELECT 'gateway' AS outbox, id, kind FROM gateway.outbox WHERE available_at < (SELECT since FROM quiet)
      UNION ALL SELECT 'approvals', id, kind FROM approvals.outbox WHERE available_at < (SELECT since FROM quiet)
      UNION ALL SELECT 'questions', id, kind FROM approvals.question_outbox WHERE available_at < (SELECT since FROM quiet)`,
  },
  {
    name: 'due steps of an access request are carried out',
    needs: 'quietForMs',
    sql: `SELECT id, status FROM approvals.access_request
      WHERE status = 'pending' AND least(expires_at, stage_ends_at, remind_at) < (SELECT since FROM quiet)`,
  },
  {
    name: 'the resolver of an open stage has answered, or the question to it exists',
    sql: `SELECT r.id, r.stage FROM approvals.access_request r
      WHERE r.status = 'pending' AND r.stages -> r.stage - 1 ->> 'automatic' IS NOT NULL
        AND NOT EXISTS (SELECT FROM approvals.resolver_answer a WHERE a.access_request_id = r.id AND a.stage = r.stage)
        AND NOT EXISTS (SELECT FROM approvals.question_outbox q WHERE q.subject_id = r.id || '/' || r.stage)`,
  },
  {
    name: 'outside work is about an existing call',
    sql: `SELECT o.id, o.subject_id FROM gateway.outbox o LEFT JOIN gateway.gated_call g ON g.id::text = o.subject_id
      WHERE g.id IS NULL`,
  },
];

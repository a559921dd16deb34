-- Writes the record of an ended call. It holds digests of arguments and result, never the arguments or the result. The requester
-- and the request, the access requests and who resolved them are in it sealed.
CREATE OR REPLACE FUNCTION gateway.write_outcome_record(p_call uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_ref text := 'out_' || replace(gen_random_uuid()::text, '-', '');
  v_at timestamptz := clock_timestamp();
  c gateway.gated_call; b gateway.call_binding; v_body text;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call;
  SELECT * INTO STRICT b FROM gateway.call_binding WHERE gated_call_id = p_call;
  v_body := jsonb_build_object(
    'outcomeRef', v_ref, 'taskId', c.task_id, 'state', c.state, 'reason', c.reason, 'recordedAt', v_at,
    'tool', b.tool, 'callDigest', b.call_digest, 'toolDigest', b.tool_digest,
    'sealedRequester', b.sealed_requester, 'createdAt', c.created_at, 'generation', c.generation,
    'requestDeadline', c.request_deadline, 'approvalExpiresAt', c.approval_expires_at,
    'decisions', (SELECT coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'generation', d.generation, 'kind', d.kind,
        'reason', d.reason, 'evaluationId', d.evaluation_id, 'policyVersion', d.policy_version, 'policies', d.policies,
        'obligations', d.obligations, 'evaluatedAt', d.evaluated_at)
        ORDER BY d.evaluated_at), '[]') FROM gateway.decision d WHERE d.gated_call_id = p_call),
    'accessRequests', (SELECT coalesce(jsonb_agg(jsonb_build_object('generation', s.generation,
        'sealedHandle', s.sealed_handle, 'sealedStatement', s.sealed_statement, 'sealedApproval', a.sealed_reference,
        'approvedAt', a.approved_at)
        ORDER BY s.generation), '[]') FROM gateway.submission s
        LEFT JOIN gateway.approval a USING (gated_call_id, generation) WHERE s.gated_call_id = p_call),
    'previews', (SELECT jsonb_agg(jsonb_build_object('number', p.number, 'sealedPreview', p.sealed_preview) ORDER BY p.number)
        FROM gateway.preview p WHERE p.gated_call_id = p_call),
    'claim', (SELECT jsonb_build_object('claimedAt', e.claimed_at, 'decisionId', e.decision_id, 'generation', e.generation)
        FROM gateway.execution_claim e WHERE e.gated_call_id = p_call AND e.released_at IS NULL),
    'invocation', (SELECT jsonb_build_object('beganAt', i.began_at, 'notSentAt', i.not_sent_at)
        FROM gateway.invocation i WHERE i.gated_call_id = p_call),
    'result', (SELECT jsonb_build_object('isError', r.is_error, 'digest', r.result_digest)
        FROM gateway.call_result r WHERE r.gated_call_id = p_call),
    'transitions', (SELECT jsonb_agg(jsonb_build_object('seq', e.seq, 'to', e.to_state, 'cause', e.cause, 'at', e.at)
        ORDER BY e.seq) FROM gateway.call_event e WHERE e.gated_call_id = p_call))::text;
  INSERT INTO gateway.outcome_record (outcome_ref, gated_call_id, task_id, call_digest, tool, state, requester_key, body, digest,
      recorded_at)
    VALUES (v_ref, p_call, c.task_id, b.call_digest, b.tool, c.state, b.requester_key, v_body,
            'sha-256:' || encode(sha256(convert_to(v_body, 'UTF8')), 'hex'), v_at);
END $$;

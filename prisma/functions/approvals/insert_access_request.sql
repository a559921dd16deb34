-- Inserts an access request. Answers when it expires; NULL when its key or its denial was used before, by this or another bundle
-- or by itself.
CREATE OR REPLACE FUNCTION approvals.insert_access_request(p jsonb) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := clock_timestamp(); v_expires timestamptz := v_now + (p ->> 'ttl_ms')::bigint * interval '1 ms';
BEGIN
  INSERT INTO approvals.access_request (id, client_id, submitted_by, idempotency_key, body_digest, bundle_id, position, evaluation_id, trace_id, token_jti, denial_part,
      subject, action, resource, context, claimed, keep_ms, tool, template, policies, reason, title, description, requester_issuer, requester_subject,
      requester_client, generation, call_digest, binding_hash, binding_context_members, requested_until,
      callback_endpoint, callback_state, callback_events, parties, stages, separate_stages, approval_ms, notified, stage_ends_at,
      created_at, expires_at)
    SELECT r.id, r.client_id, r.submitted_by, r.idempotency_key, r.body_digest, r.bundle_id, coalesce(r.position, 1), r.evaluation_id, r.trace_id, r.token_jti,
      coalesce(r.denial_part, 1),
      r.subject, r.action, r.resource, r.context, r.claimed, r.keep_ms, r.tool, r.template, r.policies, r.reason, r.title, r.description, r.requester_issuer,
      r.requester_subject, r.requester_client, r.generation, r.call_digest, r.binding_hash, r.binding_context_members,
      r.requested_until, r.callback_endpoint, r.callback_state, r.callback_events, r.parties, r.stages, r.separate_stages,
      r.approval_ms, coalesce(r.notified, false), approvals.stage_end(r.stages -> 0), v_now, v_expires
    FROM jsonb_populate_record(NULL::approvals.access_request, p) r
    ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM approvals.enqueue_notice(p ->> 'id', 'opened', 1);
  RETURN v_expires;
END $$;

-- Opens an access request, or finds the one with the same key. The key is checked before the token, so that a repeated submission
-- is never taken for a replay. Request, key and token are spent in one transaction. Outcomes: created, or those of opened_before.
-- `create_bundle` opens the items of a bundle with this function, with their bundle, their position in it, and the part of the
-- denial that each uses. `p_grants` are grants that may cover the request. The first that does approves it in this transaction,
-- before a person or a resolver is asked. They are tried in the order of their ids, because two requests that lock the same grants
-- in different orders would wait for each other.
CREATE OR REPLACE FUNCTION approvals.create_access_request(
  p_id text, p_client_id text, p_submitted_by text, p_idempotency_key text, p_body_digest text, p_evaluation_id text,
  p_trace_id text, p_token_jti text, p_subject text, p_action text, p_resource text, p_context text, p_claimed text, p_effect text, p_outline text,
  p_tool text, p_template text, p_policies text[], p_reason text, p_title text, p_description text, p_requester_issuer text,
  p_requester_subject text, p_requester_client text, p_parties text[], p_generation int, p_call_digest text,
  p_binding_hash text, p_binding_context_members text[], p_tool_digest text, p_grant_seconds int, p_grant_uses int, p_stages jsonb, p_separate_stages boolean, p_approval_ms bigint,
  p_requested_until timestamptz, p_ttl_ms bigint, p_keep_ms bigint, p_notified boolean, p_callback_endpoint text,
  p_callback_state text, p_callback_events text[],
  p_bundle_id text DEFAULT NULL, p_position int DEFAULT 1, p_denial_part int DEFAULT 1,
  p_grants text[] DEFAULT '{}', p_approval_id text DEFAULT NULL
) RETURNS TABLE (outcome text, id text, expires_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := clock_timestamp(); v_expires timestamptz := v_now + p_ttl_ms * interval '1 ms'; v_grant text;
BEGIN
  INSERT INTO approvals.access_request (
      id, client_id, submitted_by, idempotency_key, body_digest, bundle_id, position, evaluation_id, trace_id, token_jti,
      denial_part, subject, action, resource, context, claimed, effect, outline, keep_ms, tool, template, policies, reason, title, description,
      requester_issuer, requester_subject, requester_client, generation, call_digest, binding_hash, binding_context_members,
      tool_digest, grant_seconds, grant_uses, requested_until, callback_endpoint, callback_state, callback_events, parties, stages, separate_stages, approval_ms,
      notified, stage_opened_at, stage_ends_at, remind_at, created_at, expires_at)
    VALUES (
      p_id, p_client_id, p_submitted_by, p_idempotency_key, p_body_digest, p_bundle_id, p_position, p_evaluation_id, p_trace_id,
      p_token_jti, p_denial_part, p_subject, p_action, p_resource, p_context, p_claimed, p_effect, p_outline, p_keep_ms, p_tool, p_template,
      p_policies, p_reason, p_title, p_description, p_requester_issuer, p_requester_subject, p_requester_client, p_generation,
      p_call_digest, p_binding_hash, p_binding_context_members, p_tool_digest, p_grant_seconds, p_grant_uses, p_requested_until, p_callback_endpoint, p_callback_state,
      p_callback_events, p_parties, p_stages, p_separate_stages, p_approval_ms, coalesce(p_notified, false),
      v_now, approvals.stage_end(p_stages -> 0), approvals.next_reminder(p_stages -> 0, v_now, v_now), v_now, v_expires)
    ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN QUERY SELECT * FROM approvals.opened_before(p_client_id, p_idempotency_key, p_body_digest); RETURN; END IF;
  FOR v_grant IN SELECT g FROM unnest(p_grants) AS g ORDER BY g LOOP
    EXIT WHEN approvals.use_grant(v_grant, p_id, p_approval_id) = 'counted';
  END LOOP;
  PERFORM approvals.announce_stage(p_id, 'opened') FROM approvals.access_request r WHERE r.id = p_id AND r.status = 'pending';
  RETURN QUERY SELECT 'created', p_id, v_expires;
END $$;

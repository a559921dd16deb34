-- Opens a gated call like `open_gated_call`, once for each nonce. `redeemed`: returns the call that was opened or joined with the
-- nonce before, even if it ended. `late`: the nonce can no longer be redeemed.
CREATE OR REPLACE FUNCTION gateway.redeem_state(p_nonce text, p_expires_at timestamptz,
  -- The owner of the call, and the key of identical calls.
  p_id uuid, p_task_id text, p_subject_key text, p_owner_key text, p_dedup_key text, p_requester_key text,
  -- How many calls may be open, and for how long an unread outcome answers an identical call.
  p_max_open int, p_max_open_of_subject int, p_unread_ms bigint, p_waited_ms double precision,
  p_request_ttl_ms bigint, p_first_poll_ms bigint, p_retention_ms bigint, p_takes_input boolean, p_trace_id text,
  p_key_id text, p_call_key text, p_record_key text,
  -- The binding.
  p_tool text, p_upstream text, p_upstream_tool text, p_call_digest text, p_tool_digest text, p_sealed_content text,
  p_sealed_requester text,
  -- The decision.
  p_decision_id uuid, p_decision_reason text, p_evaluation_id text, p_policy_version text, p_policies text[], p_obligations jsonb,
  -- The submission.
  p_submission_id uuid, p_idempotency_key text, p_submission_endpoint text, p_sealed_body text, p_lease_ms bigint,
  -- What the server said would happen, if there is a preview.
  p_sealed_preview text
) RETURNS TABLE (outcome text, gated_call_id uuid, task_id text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE v record;
BEGIN
  -- These cannot be redeemed any more, even if a clock is set back a little.
  DELETE FROM gateway.redeemed_state WHERE nonce IN (SELECT nonce FROM gateway.redeemed_state
    WHERE expires_at < now() - interval '1 hour' ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED);
  -- A process that redeems the same nonce at the same moment waits here for the commit of the first.
  INSERT INTO gateway.redeemed_state (nonce, expires_at) VALUES (p_nonce, p_expires_at) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'redeemed', g.id, g.task_id FROM gateway.redeemed_state r
      JOIN gateway.gated_call g ON g.id = r.gated_call_id WHERE r.nonce = p_nonce;
    RETURN;
  END IF;
  IF p_expires_at <= clock_timestamp() THEN
    DELETE FROM gateway.redeemed_state WHERE nonce = p_nonce;
    RETURN QUERY SELECT 'late', NULL::uuid, NULL::text; RETURN;
  END IF;
  SELECT * INTO STRICT v FROM gateway.open_gated_call(
      p_id => p_id, p_task_id => p_task_id, p_subject_key => p_subject_key, p_owner_key => p_owner_key, p_dedup_key => p_dedup_key,
      p_requester_key => p_requester_key, p_max_open => p_max_open, p_max_open_of_subject => p_max_open_of_subject,
      p_unread_ms => p_unread_ms, p_waited_ms => p_waited_ms, p_request_ttl_ms => p_request_ttl_ms,
      p_first_poll_ms => p_first_poll_ms, p_retention_ms => p_retention_ms, p_takes_input => p_takes_input,
      p_trace_id => p_trace_id, p_key_id => p_key_id, p_call_key => p_call_key, p_record_key => p_record_key, p_tool => p_tool,
      p_upstream => p_upstream, p_upstream_tool => p_upstream_tool, p_call_digest => p_call_digest, p_tool_digest => p_tool_digest,
      p_sealed_content => p_sealed_content, p_sealed_requester => p_sealed_requester, p_decision_id => p_decision_id,
      p_decision_reason => p_decision_reason, p_evaluation_id => p_evaluation_id, p_policy_version => p_policy_version,
      p_policies => p_policies, p_obligations => p_obligations, p_submission_id => p_submission_id,
      p_idempotency_key => p_idempotency_key, p_submission_endpoint => p_submission_endpoint, p_sealed_body => p_sealed_body,
      p_lease_ms => p_lease_ms, p_sealed_preview => p_sealed_preview);
  IF v.gated_call_id IS NULL THEN
    -- Nothing was opened: the same answers can still open it.
    DELETE FROM gateway.redeemed_state WHERE nonce = p_nonce;
  ELSE
    UPDATE gateway.redeemed_state SET gated_call_id = v.gated_call_id WHERE nonce = p_nonce;
  END IF;
  RETURN QUERY SELECT v.outcome, v.gated_call_id, v.task_id;
END $$;

-- Opens a gated call with its binding, its first decision and its submission intent, or joins the open one that the same caller
-- has for the same tool and arguments. Nothing outside knows of it yet. The process that opens a call has the right to submit it
-- for `p_lease_ms`.
CREATE OR REPLACE FUNCTION gateway.open_gated_call(
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
DECLARE v_owner text := p_owner_key; v_dedup text := p_dedup_key;
  v_subject text := p_subject_key; v_of_subject int; v_of_owner int;
  v_found gateway.gated_call; v_now timestamptz; v_deadline timestamptz;
BEGIN
  SELECT count(*), count(*) FILTER (WHERE g.owner_key = v_owner) INTO v_of_subject, v_of_owner
    FROM gateway.gated_call g WHERE g.subject_key = v_subject AND g.ended_at IS NULL;
  IF (v_of_owner >= p_max_open OR v_of_subject >= p_max_open_of_subject)
     AND NOT EXISTS (SELECT 1 FROM gateway.gated_call g
       WHERE g.subject_key = v_subject AND g.owner_key = v_owner AND g.dedup_key = v_dedup AND g.ended_at IS NULL) THEN
    RETURN QUERY SELECT 'unread', u.gated_call_id, u.task_id
      FROM gateway.take_unread(p_id, p_owner_key, p_dedup_key, p_unread_ms, p_waited_ms) u;
    IF FOUND THEN RETURN; END IF;
    RETURN QUERY SELECT 'too_many', NULL::uuid, NULL::text; RETURN;
  END IF;
  v_now := clock_timestamp();
  v_deadline := v_now + p_request_ttl_ms * interval '1 ms';
  INSERT INTO gateway.gated_call (id, task_id, subject_key, owner_key, dedup_key, state, trace_id, takes_input, request_ttl_ms, request_deadline,
      poll_at, retain_until, created_at, last_updated_at)
    VALUES (p_id, p_task_id, v_subject, v_owner, v_dedup, 'preparing', p_trace_id, p_takes_input,
      p_request_ttl_ms, v_deadline, v_now + p_first_poll_ms * interval '1 ms',
      v_now + (p_request_ttl_ms + p_retention_ms) * interval '1 ms', v_now, v_now)
    ON CONFLICT (subject_key, owner_key, dedup_key) WHERE ended_at IS NULL DO NOTHING;
  IF NOT FOUND THEN
    SELECT * INTO v_found FROM gateway.gated_call g
      WHERE g.subject_key = v_subject AND g.owner_key = v_owner AND g.dedup_key = v_dedup AND g.ended_at IS NULL;
    IF FOUND THEN RETURN QUERY SELECT 'joined', v_found.id, v_found.task_id; RETURN; END IF;
    -- The other call ended between the two statements: the caller asks again, from the decision on.
    RETURN QUERY SELECT 'gone', NULL::uuid, NULL::text; RETURN;
  END IF;
  -- Only now is it certain that no identical call is open. A call that has just ended is visible.
  RETURN QUERY SELECT 'unread', u.gated_call_id, u.task_id
      FROM gateway.take_unread(p_id, p_owner_key, p_dedup_key, p_unread_ms, p_waited_ms) u;
  IF FOUND THEN
    DELETE FROM gateway.gated_call WHERE id = p_id;
    RETURN;
  END IF;
  INSERT INTO gateway.data_key (gated_call_id, key_id, call_key, record_key)
    VALUES (p_id, p_key_id, p_call_key, p_record_key);
  INSERT INTO gateway.call_binding (gated_call_id, tool, upstream, upstream_tool, call_digest, tool_digest, requester_key,
      sealed_content, sealed_requester)
    VALUES (p_id, p_tool, p_upstream, p_upstream_tool, p_call_digest, p_tool_digest,
      p_requester_key, p_sealed_content, p_sealed_requester);
  INSERT INTO gateway.decision (id, gated_call_id, generation, kind, reason, evaluation_id, call_digest, obligations, policy_version, policies)
    VALUES (p_decision_id, p_id, 1, 'requestable', p_decision_reason, p_evaluation_id,
      p_call_digest, p_obligations, p_policy_version, p_policies);
  INSERT INTO gateway.submission (id, gated_call_id, generation, idempotency_key, endpoint, sealed_body, lease_until)
    VALUES (p_submission_id, p_id, 1, p_idempotency_key, p_submission_endpoint,
      p_sealed_body, v_now + p_lease_ms * interval '1 ms');
  IF p_sealed_preview IS NOT NULL THEN
    INSERT INTO gateway.preview (gated_call_id, number, sealed_preview) VALUES (p_id, 1, p_sealed_preview);
  END IF;
  INSERT INTO gateway.call_event (gated_call_id, seq, to_state, cause) VALUES (p_id, 1, 'preparing', 'requestable_denial');
  RETURN QUERY SELECT 'opened', p_id, p_task_id;
END $$;

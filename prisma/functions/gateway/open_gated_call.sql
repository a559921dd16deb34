-- Opens a gated call with its binding, its first decision and its submission intent, or joins the open one that the
-- same caller has for the same tool and arguments. Nothing outside has been told yet. Whoever opens a call has the right
-- to submit it for `lease_ms`.
CREATE OR REPLACE FUNCTION gateway.open_gated_call(p jsonb)
RETURNS TABLE (outcome text, gated_call_id uuid, task_id text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE v_id uuid := (p ->> 'id')::uuid; v_owner text := p ->> 'owner_key'; v_dedup text := p ->> 'dedup_key';
  v_subject text := p ->> 'subject_key'; v_of_subject int; v_of_owner int;
  v_found gateway.gated_call; v_now timestamptz; v_deadline timestamptz;
BEGIN
  SELECT count(*), count(*) FILTER (WHERE g.owner_key = v_owner) INTO v_of_subject, v_of_owner
    FROM gateway.gated_call g WHERE g.subject_key = v_subject AND g.ended_at IS NULL;
  IF (v_of_owner >= (p ->> 'max_open')::int OR v_of_subject >= (p ->> 'max_open_of_subject')::int)
     AND NOT EXISTS (SELECT 1 FROM gateway.gated_call g
       WHERE g.subject_key = v_subject AND g.owner_key = v_owner AND g.dedup_key = v_dedup AND g.ended_at IS NULL) THEN
    RETURN QUERY SELECT 'unread', u.gated_call_id, u.task_id FROM gateway.take_unread(p) u;
    IF FOUND THEN RETURN; END IF;
    RETURN QUERY SELECT 'too_many', NULL::uuid, NULL::text; RETURN;
  END IF;
  v_now := clock_timestamp();
  v_deadline := v_now + (p ->> 'request_ttl_ms')::bigint * interval '1 ms';
  INSERT INTO gateway.gated_call (id, task_id, subject_key, owner_key, dedup_key, state, trace_id, takes_input, request_deadline, latest_deadline,
      look_at, retain_until, created_at, last_updated_at)
    VALUES (v_id, p ->> 'task_id', v_subject, v_owner, v_dedup, 'preparing', p ->> 'trace_id', (p ->> 'takes_input')::boolean,
      v_deadline, v_deadline, v_now + (p ->> 'first_look_ms')::bigint * interval '1 ms',
      v_now + ((p ->> 'request_ttl_ms')::bigint + (p ->> 'retention_ms')::bigint) * interval '1 ms', v_now, v_now)
    ON CONFLICT (subject_key, owner_key, dedup_key) WHERE ended_at IS NULL DO NOTHING;
  IF NOT FOUND THEN
    SELECT * INTO v_found FROM gateway.gated_call g
      WHERE g.subject_key = v_subject AND g.owner_key = v_owner AND g.dedup_key = v_dedup AND g.ended_at IS NULL;
    IF FOUND THEN RETURN QUERY SELECT 'joined', v_found.id, v_found.task_id; RETURN; END IF;
    -- The other one ended between the two statements: the caller asks again, from the decision on.
    RETURN QUERY SELECT 'gone', NULL::uuid, NULL::text; RETURN;
  END IF;
  -- Only now no identical one is open, and one that has just ended is seen.
  RETURN QUERY SELECT 'unread', u.gated_call_id, u.task_id FROM gateway.take_unread(p) u;
  IF FOUND THEN
    DELETE FROM gateway.gated_call WHERE id = v_id;
    RETURN;
  END IF;
  INSERT INTO gateway.data_key (gated_call_id, key_id, call_key, record_key)
    VALUES (v_id, p ->> 'key_id', p ->> 'call_key', p ->> 'record_key');
  INSERT INTO gateway.call_binding (gated_call_id, tool, upstream, upstream_tool, call_digest, tool_digest, requester_key,
      sealed_content, sealed_requester)
    VALUES (v_id, p ->> 'tool', p ->> 'upstream', p ->> 'upstream_tool', p ->> 'call_digest', p ->> 'tool_digest',
      p ->> 'requester_key', p ->> 'sealed_content', p ->> 'sealed_requester');
  INSERT INTO gateway.decision (id, gated_call_id, generation, kind, reason, evaluation_id, call_digest, obligations, policy_version, policies)
    VALUES ((p ->> 'decision_id')::uuid, v_id, 1, 'requestable', p ->> 'decision_reason', p ->> 'evaluation_id',
      p ->> 'call_digest', p -> 'obligations', p ->> 'policy_version',
      CASE WHEN p ? 'policies' THEN ARRAY(SELECT jsonb_array_elements_text(p -> 'policies')) END);
  INSERT INTO gateway.submission (id, gated_call_id, generation, idempotency_key, endpoint, sealed_body, lease_until)
    VALUES ((p ->> 'submission_id')::uuid, v_id, 1, p ->> 'idempotency_key', p ->> 'submission_endpoint',
      p ->> 'sealed_body', v_now + (p ->> 'lease_ms')::bigint * interval '1 ms');
  INSERT INTO gateway.call_event (gated_call_id, seq, to_state, cause) VALUES (v_id, 1, 'preparing', 'requestable_denial');
  RETURN QUERY SELECT 'opened', v_id, p ->> 'task_id';
END $$;

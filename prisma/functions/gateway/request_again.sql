-- Gives up a generation whose approval is not enough for the policy, and records the submission of the next. This is one commit,
-- before the access request service is told: from then on the superseded approval cannot be used. A poll is due at once: if the
-- worker dies before it submits, the poll of another worker submits. Returns the state of the call afterwards; `pending` means
-- that the next generation must be submitted. Its request waits as long as the first one could.
CREATE OR REPLACE FUNCTION gateway.request_again(p_call uuid, p_generation int, p_submission_id uuid, p_idempotency_key text,
  p_submission_endpoint text, p_sealed_body text, p_max_generations int, p_retention_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call; v_now timestamptz;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  v_now := clock_timestamp();
  IF c.state <> 'granted' OR c.generation <> p_generation THEN RETURN c.state; END IF;
  IF c.approval_expires_at <= v_now THEN
    RETURN gateway.expire_gated_call(p_call, p_retention_ms);
  END IF;
  IF p_generation >= p_max_generations THEN
    RETURN gateway.end_unclaimed(p_call, 'denied', 'chain_limit', 're-evaluation', p_retention_ms);
  END IF;
  INSERT INTO gateway.submission (id, gated_call_id, generation, idempotency_key, endpoint, sealed_body)
    VALUES (p_submission_id, p_call, p_generation + 1, p_idempotency_key,
      p_submission_endpoint, p_sealed_body);
  UPDATE gateway.gated_call SET generation = p_generation + 1, approval_expires_at = NULL,
    request_deadline = v_now + c.request_ttl_ms * interval '1 ms', poll_at = v_now,
    retain_until = greatest(retain_until, v_now + (c.request_ttl_ms + p_retention_ms) * interval '1 ms') WHERE id = p_call;
  PERFORM gateway.transition(p_call, 'pending', 'requested_again', NULL, 0);
  RETURN 'pending';
END $$;

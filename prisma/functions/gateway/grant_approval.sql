-- Records an authenticated grant for the current generation. It does not change a superseded generation, or a call that went on.
-- A grant ends the request deadline: from then on the validity of the approval counts alone. An approval that is over, or that
-- another call or generation has used, denies the call. Returns the state of the call afterwards.
CREATE OR REPLACE FUNCTION gateway.grant_approval(p_call uuid, p_generation int, p_approval_key text, p_approved_at timestamptz,
  p_approved_until timestamptz, p_sealed_body text, p_sealed_reference text, p_retention_ms bigint, p_use_ms bigint)
  RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call; v_until timestamptz;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF c.state <> 'pending' OR c.generation <> p_generation THEN RETURN c.state; END IF;
  IF c.request_deadline <= clock_timestamp() THEN RETURN gateway.expire_gated_call(p_call, p_retention_ms); END IF;
  IF p_approved_until <= clock_timestamp() THEN
    RETURN gateway.end_unclaimed(p_call, 'denied', 'approval_expired', 'grant', p_retention_ms);
  END IF;
  INSERT INTO gateway.approval (gated_call_id, generation, approval_key, approved_at, approved_until, sealed_body, sealed_reference)
    VALUES (p_call, p_generation, p_approval_key, p_approved_at, p_approved_until, p_sealed_body, p_sealed_reference)
    ON CONFLICT (approval_key) DO NOTHING;
  IF NOT FOUND THEN
    RETURN gateway.end_unclaimed(p_call, 'denied', 'approval_used', 'grant', p_retention_ms);
  END IF;
  -- A service may approve for years, but a granted call must not wait that long for its execution.
  v_until := least(p_approved_until, clock_timestamp() + p_use_ms * interval '1 ms');
  UPDATE gateway.gated_call SET approval_expires_at = v_until,
    -- The call may now last longer than its request could.
    retain_until = greatest(retain_until, v_until + p_retention_ms * interval '1 ms') WHERE id = p_call;
  PERFORM gateway.transition(p_call, 'granted', 'grant', NULL, 0);
  RETURN 'granted';
END $$;

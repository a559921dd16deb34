-- The two fences of an execution, the claim and the permit to send, and what becomes of it.

-- The one irrevocable right to execute. `won` and `mine` may go on; `lost`, `stale` (ask the policy again) and `frozen`
-- (what was committed before may have been lost; nothing runs until it was looked into) may not.
-- The lock comes first: a statement that checked the deadline before waiting for the row could claim after expiry.
CREATE FUNCTION gateway.claim_execution(p_call uuid, p_generation int, p_decision uuid, p_claim uuid, p_epoch int,
  p_execution_ms bigint, p_retention_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call; v_now timestamptz;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF c.claim_id = p_claim THEN RETURN CASE WHEN c.state = 'claimed' THEN 'mine' ELSE 'lost' END; END IF;
  IF c.state <> 'granted' OR c.generation <> p_generation OR c.claim_id IS NOT NULL THEN RETURN 'lost'; END IF;
  PERFORM 1 FROM gateway.epoch WHERE number = p_epoch AND NOT frozen FOR SHARE;
  IF NOT FOUND OR gateway.fence_state() <> 'whole' THEN RETURN 'frozen'; END IF;
  v_now := clock_timestamp();
  IF c.request_deadline <= v_now OR c.approval_expires_at <= v_now THEN RETURN 'lost'; END IF;
  IF NOT EXISTS (SELECT 1 FROM gateway.decision d JOIN gateway.call_binding b USING (gated_call_id)
      WHERE d.id = p_decision AND d.gated_call_id = p_call AND d.generation = p_generation AND d.kind = 'allow'
        AND d.call_digest = b.call_digest AND d.evaluated_at > v_now - interval '5 s'
        -- Where the clock was set back, what was decided before lies ahead of it, and would stay fresh until it is caught up.
        AND d.evaluated_at <= v_now
        -- It may say of the approval that it is over sooner than whoever granted it did.
        AND (d.approved_until IS NULL OR d.approved_until > v_now)) THEN
    RETURN 'stale';
  END IF;
  UPDATE gateway.gated_call SET claim_id = p_claim,
    execution_deadline = v_now + p_execution_ms * interval '1 ms',
    retain_until = greatest(retain_until, v_now + (p_execution_ms + p_retention_ms) * interval '1 ms') WHERE id = p_call;
  INSERT INTO gateway.execution_claim (gated_call_id, claim_id, generation, decision_id, claimed_at, timeline)
    VALUES (p_call, p_claim, p_generation, p_decision, v_now, gateway.timeline());
  PERFORM gateway.move(p_call, 'claimed', 'claim', NULL, 0);
  RETURN 'won';
END $$;

-- The permit to send: given once per gated call, only while it is claimed and within its execution deadline, and by the server that
-- has the claim from its own hand: one that took over may have lost a permit that was given, and would give it again.
CREATE FUNCTION gateway.begin_invocation(p_call uuid, p_claim uuid, p_invocation uuid, p_upstream_key text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  PERFORM 1 FROM gateway.epoch WHERE NOT frozen FOR SHARE;
  IF NOT FOUND OR gateway.fence_state() <> 'whole' THEN RETURN false; END IF;
  IF c.state <> 'claimed' OR c.claim_id <> p_claim OR c.execution_deadline <= clock_timestamp() THEN RETURN false; END IF;
  IF gateway.is_of_earlier_timeline(p_call) THEN RETURN false; END IF;
  INSERT INTO gateway.invocation (gated_call_id, invocation_id, upstream_key)
    VALUES (p_call, p_invocation, p_upstream_key) ON CONFLICT DO NOTHING;
  RETURN FOUND;
END $$;

-- Settles a claimed call with what its one invocation brought, or with the certainty that nothing was sent. `p_cause`:
-- `result` (the tool's own answer), `probe` (what the upstream says of it afterwards), `not_sent`.
-- A call that was already settled stays as it is; a result that it was settled without is kept as evidence. Answers the
-- state the call is in afterwards.
CREATE FUNCTION gateway.settle_execution(p_call uuid, p_invocation uuid, p_cause text, p_is_error boolean,
  p_sealed_result text, p_result_digest text, p_retention_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_state text;
BEGIN
  SELECT state INTO STRICT v_state FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  PERFORM 1 FROM gateway.invocation WHERE gated_call_id = p_call AND invocation_id = p_invocation;
  IF NOT FOUND THEN RETURN v_state; END IF;
  IF v_state <> 'claimed' THEN
    -- The same result again is the same message whose answer was lost.
    IF p_cause <> 'not_sent' AND NOT EXISTS
        (SELECT 1 FROM gateway.call_result WHERE gated_call_id = p_call AND result_digest = p_result_digest) THEN
      INSERT INTO gateway.late_evidence (gated_call_id, is_error, sealed_result, result_digest)
        VALUES (p_call, p_is_error, p_sealed_result, p_result_digest) ON CONFLICT DO NOTHING;
    END IF;
    RETURN v_state;
  END IF;
  IF p_cause = 'not_sent' THEN
    UPDATE gateway.invocation SET not_sent_at = clock_timestamp() WHERE gated_call_id = p_call;
    PERFORM gateway.move(p_call, 'execution_error', 'not_sent', 'not_sent', p_retention_ms);
    RETURN 'execution_error';
  END IF;
  INSERT INTO gateway.call_result (gated_call_id, is_error, sealed_result, result_digest)
    VALUES (p_call, p_is_error, p_sealed_result, p_result_digest);
  v_state := CASE WHEN p_is_error THEN 'execution_error' ELSE 'executed' END;
  PERFORM gateway.move(p_call, v_state, p_cause, NULL, p_retention_ms);
  RETURN v_state;
END $$;

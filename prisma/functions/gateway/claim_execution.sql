-- Takes the right to execute, which nothing but `release_claim` takes back. `won` and `mine` may go on. `lost`, `stale` (ask the policy again) and `frozen` may
-- not; `frozen` means that committed rows may have been lost, so nothing runs until an operator has reconciled them. The lock
-- comes first: a statement that checked the deadline before waiting for the row could claim after expiry.
CREATE OR REPLACE FUNCTION gateway.claim_execution(p_call uuid, p_generation int, p_decision uuid, p_claim uuid, p_epoch int,
  p_execution_ms bigint, p_retention_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call; v_now timestamptz;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF c.claim_id = p_claim THEN RETURN CASE WHEN c.state = 'claimed' THEN 'mine' ELSE 'lost' END; END IF;
  IF c.state <> 'granted' OR c.generation <> p_generation OR c.claim_id IS NOT NULL THEN RETURN 'lost'; END IF;
  PERFORM 1 FROM gateway.epoch WHERE number = p_epoch AND NOT frozen FOR SHARE;
  IF NOT FOUND OR gateway.fence_state() <> 'whole' THEN RETURN 'frozen'; END IF;
  v_now := clock_timestamp();
  IF c.approval_expires_at <= v_now THEN RETURN 'lost'; END IF;
  IF NOT EXISTS (SELECT 1 FROM gateway.decision d JOIN gateway.call_binding b USING (gated_call_id)
      WHERE d.id = p_decision AND d.gated_call_id = p_call AND d.generation = p_generation AND d.kind = 'allow'
        AND d.call_digest = b.call_digest AND d.evaluated_at > v_now - interval '5 s'
        -- If the clock was set back, earlier decisions lie ahead of it, and would stay fresh until the clock catches up.
        AND d.evaluated_at <= v_now
        -- The decision may end the approval earlier than its grant did.
        AND (d.approved_until IS NULL OR d.approved_until > v_now)
        -- A claim that was given up used its decision.
        AND NOT EXISTS (SELECT 1 FROM gateway.execution_claim e WHERE e.decision_id = d.id)) THEN
    RETURN 'stale';
  END IF;
  UPDATE gateway.gated_call SET claim_id = p_claim,
    execution_deadline = v_now + p_execution_ms * interval '1 ms',
    retain_until = greatest(retain_until, v_now + (p_execution_ms + p_retention_ms) * interval '1 ms') WHERE id = p_call;
  INSERT INTO gateway.execution_claim (gated_call_id, claim_id, generation, decision_id, claimed_at, timeline)
    VALUES (p_call, p_claim, p_generation, p_decision, v_now, gateway.timeline());
  PERFORM gateway.transition(p_call, 'claimed', 'claim', NULL, 0);
  RETURN 'won';
END $$;

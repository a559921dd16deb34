-- Ends a call whose deadline has passed, and does nothing to any other call. A claimed call becomes `outcome_unknown` if the
-- permit to send was given. Otherwise its claim is given up, and the call ends only if its approval is over. If a failover may have
-- lost the permit, the call becomes `outcome_unknown` as well.
CREATE OR REPLACE FUNCTION gateway.expire_gated_call(p_call uuid, p_retention_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call; v_now timestamptz;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  v_now := clock_timestamp();
  IF c.state IN ('preparing','pending') AND c.request_deadline <= v_now THEN
    RETURN gateway.end_unclaimed(p_call, 'denied', 'request_expired', 'deadline', p_retention_ms);
  ELSIF c.state IN ('granted','input_required') AND c.approval_expires_at <= v_now THEN
    RETURN gateway.end_unclaimed(p_call, 'denied', 'approval_expired', 'deadline', p_retention_ms);
  ELSIF c.state = 'claimed' AND c.execution_deadline <= v_now THEN
    IF EXISTS (SELECT 1 FROM gateway.invocation WHERE gated_call_id = p_call) THEN
      PERFORM gateway.transition(p_call, 'outcome_unknown', 'execution_deadline', 'no_result', p_retention_ms);
      RETURN 'outcome_unknown';
    END IF;
    -- After a restore the permit may be among the lost rows.
    IF gateway.fence_state() <> 'whole' THEN RETURN c.state; END IF;
    IF gateway.is_of_earlier_timeline(p_call) THEN
      PERFORM gateway.transition(p_call, 'outcome_unknown', 'execution_deadline', 'restored', p_retention_ms);
      RETURN 'outcome_unknown';
    END IF;
    IF gateway.release_claim(p_call, c.claim_id) = 0 THEN RETURN c.state; END IF;
    IF c.approval_expires_at <= v_now THEN
      RETURN gateway.end_unclaimed(p_call, 'denied', 'approval_expired', 'deadline', p_retention_ms);
    END IF;
    RETURN 'granted';
  END IF;
  RETURN c.state;
END $$;

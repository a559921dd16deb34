-- Gives the permit to send, once per gated call, only while the call is claimed by this very claim and within its deadline. The
-- execution deadline counts from the permit, so the tool has its whole time. Only the server that made the claim gives the permit:
-- a server that took over may have lost a permit that was given, and would give it again.
CREATE OR REPLACE FUNCTION gateway.begin_invocation(p_call uuid, p_claim uuid, p_invocation uuid, p_upstream_key text,
  p_execution_ms bigint, p_retention_ms bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call; v_now timestamptz;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  PERFORM 1 FROM gateway.epoch WHERE NOT frozen FOR SHARE;
  IF NOT FOUND OR gateway.fence_state() <> 'whole' THEN RETURN false; END IF;
  v_now := clock_timestamp();
  IF c.state <> 'claimed' OR c.claim_id <> p_claim OR c.execution_deadline <= v_now THEN RETURN false; END IF;
  IF gateway.is_of_earlier_timeline(p_call) THEN RETURN false; END IF;
  INSERT INTO gateway.invocation (gated_call_id, claim_id, invocation_id, upstream_key, began_at)
    VALUES (p_call, p_claim, p_invocation, p_upstream_key, v_now) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE gateway.gated_call SET execution_deadline = v_now + p_execution_ms * interval '1 ms',
    retain_until = greatest(retain_until, v_now + (p_execution_ms + p_retention_ms) * interval '1 ms') WHERE id = p_call;
  RETURN true;
END $$;

-- Gives the permit to send, once per gated call, only while the call is claimed and within its execution deadline. Only the
-- server that made the claim gives it: a server that took over may have lost a permit that was given, and would give it again.
CREATE OR REPLACE FUNCTION gateway.begin_invocation(p_call uuid, p_claim uuid, p_invocation uuid, p_upstream_key text)
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

-- Gives a claim up whose permit to send was never given, so provably nothing was sent. The call is granted again: it is decided and
-- claimed anew while its approval holds. The lock comes first, and the permit names its claim, so a process that still holds this
-- claim gets no permit for it. Returns how many claims of the call were given up by now, or 0 if this one was not.
CREATE OR REPLACE FUNCTION gateway.release_claim(p_call uuid, p_claim uuid) RETURNS int LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF c.state <> 'claimed' OR c.claim_id <> p_claim THEN RETURN 0; END IF;
  IF EXISTS (SELECT 1 FROM gateway.invocation WHERE gated_call_id = p_call) THEN RETURN 0; END IF;
  -- After a restore or a failover the permit may be among the lost rows.
  PERFORM 1 FROM gateway.epoch WHERE NOT frozen FOR SHARE;
  IF NOT FOUND OR gateway.fence_state() <> 'whole' OR gateway.is_of_earlier_timeline(p_call) THEN RETURN 0; END IF;
  UPDATE gateway.execution_claim SET released_at = clock_timestamp() WHERE claim_id = p_claim;
  PERFORM gateway.transition(p_call, 'granted', 'not_sent', NULL, 0);
  UPDATE gateway.gated_call SET claim_id = NULL, execution_deadline = NULL WHERE id = p_call;
  PERFORM gateway.enqueue('signal_workflow', p_call::text);
  RETURN (SELECT count(*) FROM gateway.execution_claim WHERE gated_call_id = p_call AND released_at IS NOT NULL);
END $$;

-- Ends a call whose claim or permit may be among the lost rows: it may have run, and must not run again. The call goes through
-- all states, so that the record shows each step with its cause. Nothing is left to decide, so its access request is given up.
-- Returns the state of the call afterwards.
CREATE OR REPLACE FUNCTION gateway.settle_restored(p_call uuid, p_claim uuid, p_retention_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call;
BEGIN
  PERFORM 1 FROM gateway.epoch WHERE frozen;
  IF NOT FOUND THEN RAISE EXCEPTION 'calls are settled after a restore only while the epoch is frozen' USING ERRCODE = 'CS003'; END IF;
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF c.ended_at IS NOT NULL THEN RETURN c.state; END IF;
  IF c.state = 'preparing' THEN PERFORM gateway.transition(p_call, 'pending', 'restore', NULL, 0); END IF;
  IF c.state IN ('preparing','input_required','pending') THEN PERFORM gateway.transition(p_call, 'granted', 'restore', NULL, 0); END IF;
  IF c.state <> 'claimed' THEN
    UPDATE gateway.gated_call SET claim_id = p_claim WHERE id = p_call;
    PERFORM gateway.transition(p_call, 'claimed', 'restore', NULL, 0);
  END IF;
  PERFORM gateway.transition(p_call, 'outcome_unknown', 'restore', 'restored', p_retention_ms);
  IF c.state <> 'claimed' THEN PERFORM gateway.enqueue('cancel_access_request', p_call::text); END IF;
  PERFORM gateway.enqueue('signal_workflow', p_call::text);
  RETURN 'outcome_unknown';
END $$;

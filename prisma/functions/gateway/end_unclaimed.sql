-- Ends a call that is not claimed: denied, cancelled or failed. The claim competes for the same row, so exactly one wins. Returns
-- the state of the call afterwards.
CREATE OR REPLACE FUNCTION gateway.end_unclaimed(p_call uuid, p_to text, p_reason text, p_cause text, p_retention_ms bigint)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_state text;
BEGIN
  SELECT state INTO STRICT v_state FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF v_state NOT IN ('preparing','pending','input_required','granted') THEN RETURN v_state; END IF;
  -- After a restore the call may have run already. Then a record that it did not run would be false.
  IF p_cause <> 'restore' AND gateway.fence_state() <> 'whole' THEN RETURN v_state; END IF;
  -- A creation is given up only while no process works on it. Since the job found it, its handle may have come and its task been
  -- given out, or another process may have taken it over.
  IF p_reason = 'abandoned' THEN
    PERFORM 1 FROM gateway.submission WHERE gated_call_id = p_call FOR UPDATE;
    IF v_state <> 'preparing' OR EXISTS (SELECT 1 FROM gateway.submission
        WHERE gated_call_id = p_call AND lease_until > clock_timestamp()) THEN RETURN v_state; END IF;
  END IF;
  PERFORM gateway.transition(p_call, p_to, p_cause, p_reason, p_retention_ms);
  -- A decision can be late: it was asked for in one generation, and the request of the next is already open. That request is
  -- cancelled too.
  IF p_reason IN ('client_cancelled','abandoned','request_expired','restored')
     OR (p_cause = 're-evaluation' AND v_state NOT IN ('granted','input_required')) THEN
    PERFORM gateway.enqueue('cancel_access_request', p_call::text);
  END IF;
  PERFORM gateway.enqueue('signal_workflow', p_call::text);
  RETURN p_to;
END $$;

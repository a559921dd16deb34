-- Settles a claimed call with the result of its one invocation, or with the certainty that nothing was sent. `p_cause`: `result`
-- (the tool's own answer), `probe` (the upstream's later answer about it), `not_sent`. A call that was already settled stays as
-- it is; a result that comes later is kept as evidence. Returns the state of the call afterwards.
CREATE OR REPLACE FUNCTION gateway.settle_execution(p_call uuid, p_invocation uuid, p_cause text, p_is_error boolean,
  p_sealed_result text, p_result_digest text, p_retention_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_state text;
BEGIN
  SELECT state INTO STRICT v_state FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  PERFORM 1 FROM gateway.invocation WHERE gated_call_id = p_call AND invocation_id = p_invocation;
  IF NOT FOUND THEN RETURN v_state; END IF;
  IF v_state <> 'claimed' THEN
    -- The same result again is a repetition of a message whose answer was lost.
    IF p_cause <> 'not_sent' AND NOT EXISTS
        (SELECT 1 FROM gateway.call_result WHERE gated_call_id = p_call AND result_digest = p_result_digest) THEN
      INSERT INTO gateway.late_evidence (gated_call_id, is_error, sealed_result, result_digest)
        VALUES (p_call, p_is_error, p_sealed_result, p_result_digest) ON CONFLICT DO NOTHING;
    END IF;
    RETURN v_state;
  END IF;
  IF p_cause = 'not_sent' THEN
    UPDATE gateway.invocation SET not_sent_at = clock_timestamp() WHERE gated_call_id = p_call;
    PERFORM gateway.transition(p_call, 'execution_error', 'not_sent', 'not_sent', p_retention_ms);
    RETURN 'execution_error';
  END IF;
  INSERT INTO gateway.call_result (gated_call_id, is_error, sealed_result, result_digest)
    VALUES (p_call, p_is_error, p_sealed_result, p_result_digest);
  v_state := CASE WHEN p_is_error THEN 'execution_error' ELSE 'executed' END;
  PERFORM gateway.transition(p_call, v_state, p_cause, NULL, p_retention_ms);
  RETURN v_state;
END $$;

-- Changes the state of a call whose row the caller has locked, with its event and, at an end, its outcome record. On commit,
-- gateways with a subscription to the task are notified. No client can have a subscription before the handle is given out, so the
-- transition to `pending` is silent: commits with a notification wait for each other, and many calls are opened at once.
CREATE OR REPLACE FUNCTION gateway.transition(p_call uuid, p_to text, p_cause text, p_reason text, p_retention_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_version integer; v_task text;
  v_end boolean := EXISTS (SELECT 1 FROM gateway.transition WHERE to_state = p_to AND is_end);
BEGIN
  UPDATE gateway.gated_call SET state = p_to, reason = coalesce(p_reason, reason), state_version = state_version + 1,
    last_updated_at = clock_timestamp(), ended_at = CASE WHEN v_end THEN clock_timestamp() END,
    retain_until = CASE WHEN v_end THEN clock_timestamp() + p_retention_ms * interval '1 ms' ELSE retain_until END
    WHERE id = p_call RETURNING state_version, task_id INTO STRICT v_version, v_task;
  INSERT INTO gateway.call_event (gated_call_id, seq, to_state, cause) VALUES (p_call, v_version, p_to, p_cause);
  IF v_end THEN PERFORM gateway.write_outcome_record(p_call); END IF;
  IF p_cause <> 'submitted' THEN PERFORM pg_notify('gateway_task', v_task); END IF;
END $$;

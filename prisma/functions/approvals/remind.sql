-- Queues the reminder that is due for a request whose row the caller has locked. If several are due at once, only the last is
-- sent. A repetition changes nothing.
CREATE OR REPLACE FUNCTION approvals.remind(p_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_now timestamptz := clock_timestamp(); v_number int;
BEGIN
  SELECT * INTO STRICT r FROM approvals.access_request WHERE id = p_id;
  IF r.status <> 'pending' OR (r.remind_at <= v_now) IS NOT TRUE THEN RETURN; END IF;
  SELECT count(*) INTO v_number FROM jsonb_array_elements_text(r.stages -> r.stage - 1 -> 'remindAfterSeconds') AS s (after)
    WHERE r.stage_opened_at + after::bigint * interval '1 s' <= v_now;
  PERFORM approvals.enqueue_notice(p_id, 'reminder', v_number);
  UPDATE approvals.access_request
    SET remind_at = approvals.next_reminder(r.stages -> r.stage - 1, r.stage_opened_at, v_now) WHERE id = p_id;
END $$;

-- Carries out the deadlines of a request. Past its own deadline the request expires. Past the deadline of its stage, the next
-- stage opens or the request is denied, as the stage says. It is never approved. A stage that opens has its whole time from this
-- moment on. A repetition changes nothing. Returns the status afterwards, or NULL if the request does not exist.
CREATE OR REPLACE FUNCTION approvals.expire_access_request(p_id text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_next int;
BEGIN
  SELECT * INTO r FROM approvals.access_request WHERE id = p_id FOR UPDATE;
  IF r.status IS DISTINCT FROM 'pending' THEN RETURN r.status; END IF;
  IF r.expires_at <= clock_timestamp() THEN
    PERFORM approvals.end_request(p_id, 'expired');
    RETURN 'expired';
  END IF;
  IF r.stage_ends_at <= clock_timestamp() THEN
    IF r.stages -> r.stage - 1 ->> 'then' = 'escalate' THEN v_next := approvals.stage_after(r.stages, r.stage, true); END IF;
    IF v_next IS NULL THEN
      PERFORM approvals.end_request(p_id, 'denied');
      RETURN 'denied';
    END IF;
    PERFORM approvals.open_stage(p_id, v_next, 'escalated');
  END IF;
  RETURN 'pending';
END $$;

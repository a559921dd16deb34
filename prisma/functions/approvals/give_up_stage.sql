-- Gives up a stage that opened and that no people can settle: the next stage takes its place if the stage escalates, and else the request is
-- denied with the reason. A stage that is over, or an ended request, stays as it is. Returns what followed: escalated, denied, or NULL.
CREATE OR REPLACE FUNCTION approvals.give_up_stage(p_id text, p_stage int, p_why text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_next int;
BEGIN
  PERFORM approvals.expire_access_request(p_id);
  SELECT * INTO r FROM approvals.access_request WHERE id = p_id FOR UPDATE;
  IF r.status IS DISTINCT FROM 'pending' OR r.stage IS DISTINCT FROM p_stage THEN RETURN NULL; END IF;
  IF r.stages -> r.stage - 1 ->> 'then' = 'escalate' THEN v_next := approvals.stage_after(r.stages, r.stage, true); END IF;
  IF v_next IS NOT NULL THEN
    PERFORM approvals.open_stage(p_id, v_next, 'escalated');
    RETURN 'escalated';
  END IF;
  UPDATE approvals.access_request SET end_note = jsonb_build_object('why', p_why) WHERE id = p_id;
  PERFORM approvals.end_request(p_id, 'denied');
  RETURN 'denied';
END $$;

-- Opens a stage and sets its first reminder. `p_event` says why it opened: opened, escalated.
CREATE OR REPLACE FUNCTION approvals.open_stage(p_id text, p_stage int, p_event text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := clock_timestamp();
BEGIN
  UPDATE approvals.access_request SET stage = p_stage, stage_opened_at = v_now,
    stage_ends_at = approvals.stage_end(stages -> p_stage - 1),
    remind_at = approvals.next_reminder(stages -> p_stage - 1, v_now, v_now) WHERE id = p_id;
  PERFORM approvals.announce_stage(p_id, p_event);
END $$;

-- `p_event` says how it came about: opened, escalated.
CREATE OR REPLACE FUNCTION approvals.open_stage(p_id text, p_stage int, p_event text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE approvals.access_request SET stage = p_stage, stage_opened_at = clock_timestamp(),
    stage_ends_at = approvals.stage_end(stages -> p_stage - 1) WHERE id = p_id;
  PERFORM approvals.enqueue_notice(p_id, p_event, 1);
END $$;

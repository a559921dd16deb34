-- Queues the question to the automatic resolver of a stage that opens, and the notice to people. The caller has locked the row.
-- `p_event` says why the stage opened: opened, escalated.
CREATE OR REPLACE FUNCTION approvals.announce_stage(p_id text, p_event text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO approvals.question_outbox (kind, subject_id) SELECT 'question', id || '/' || stage FROM approvals.access_request
    WHERE id = p_id AND stages -> stage - 1 ->> 'automatic' IS NOT NULL;
  IF FOUND THEN PERFORM pg_notify('approvals_outbox', ''); END IF;
  PERFORM approvals.enqueue_notice(p_id, p_event, 1);
END $$;

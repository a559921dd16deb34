-- Queues an entry for the workers. A caller or an approver waits for the effect of a signal or a cancellation, so those notify
-- the workers. A start can wait, because a new workflow only waits itself. The workers find it in their next round.
CREATE OR REPLACE FUNCTION gateway.enqueue(p_kind text, p_subject text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_urgency smallint := CASE p_kind WHEN 'start_workflow' THEN 1 ELSE 0 END;
BEGIN
  INSERT INTO gateway.outbox (kind, subject_id, urgency) VALUES (p_kind, p_subject, v_urgency);
  IF v_urgency = 0 THEN PERFORM pg_notify('gateway_outbox', ''); END IF;
END $$;

-- Somebody waits for what a poke or a cancellation sets going, so the dispatcher is told of it. A start has time, since
-- nothing happens in a new workflow until its first look is due: the dispatcher finds it when it looks by itself.
CREATE OR REPLACE FUNCTION gateway.enqueue(p_kind text, p_subject text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_urgency smallint := CASE p_kind WHEN 'start_workflow' THEN 1 ELSE 0 END;
BEGIN
  INSERT INTO gateway.outbox (kind, subject_id, urgency) VALUES (p_kind, p_subject, v_urgency);
  IF v_urgency = 0 THEN PERFORM pg_notify('gateway_outbox', ''); END IF;
END $$;

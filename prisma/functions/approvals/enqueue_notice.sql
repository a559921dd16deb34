-- Records, once, an event of a request whose row the caller has locked, and queues what people and bots are told of it, if a
-- receiver or a channel is configured.
CREATE OR REPLACE FUNCTION approvals.enqueue_notice(p_id text, p_event text, p_number int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_notice bigint;
BEGIN
  SELECT * INTO STRICT r FROM approvals.access_request WHERE id = p_id;
  -- The inbox shows reminders even if no receiver gets notifications.
  IF NOT r.notified AND p_event <> 'reminder' THEN RETURN; END IF;
  INSERT INTO approvals.notice (access_request_id, event, stage, number) VALUES (p_id, p_event, r.stage, p_number)
    ON CONFLICT DO NOTHING RETURNING id INTO v_notice;
  IF r.notified AND v_notice IS NOT NULL THEN
    INSERT INTO approvals.message_outbox (kind, subject_id) VALUES ('notice', v_notice::text);
    PERFORM pg_notify('approvals_outbox', '');
  END IF;
END $$;

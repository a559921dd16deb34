-- Records, once, an event of a request whose row the caller has locked, and queues a notification if a receiver is configured.
CREATE OR REPLACE FUNCTION approvals.enqueue_notice(p_id text, p_event text, p_number int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_notice bigint;
BEGIN
  SELECT * INTO STRICT r FROM approvals.access_request WHERE id = p_id;
  -- The inbox shows reminders even if no receiver gets notifications.
  IF NOT r.notified AND p_event <> 'reminder' THEN RETURN; END IF;
  INSERT INTO approvals.notice (access_request_id, event, stage, number) VALUES (p_id, p_event, r.stage, p_number)
    ON CONFLICT DO NOTHING RETURNING id INTO v_notice;
  IF r.notified AND v_notice IS NOT NULL THEN
    INSERT INTO approvals.outbox (kind, subject_id) VALUES ('notification', v_notice::text);
    PERFORM pg_notify('approvals_outbox', '');
  END IF;
END $$;

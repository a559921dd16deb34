-- Records, once, an event of a request whose row the caller has locked, and queues a notification where a receiver is configured.
-- An event that changed the request also queues a signal to its workflow, which then reads what is next.
CREATE OR REPLACE FUNCTION approvals.enqueue_notice(p_id text, p_event text, p_number int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_notice bigint; v_wakes boolean;
BEGIN
  SELECT * INTO STRICT r FROM approvals.access_request WHERE id = p_id;
  v_wakes := p_event <> 'reminder' AND approvals.is_paced(r.stages);
  IF r.notified OR p_event = 'reminder' THEN
    INSERT INTO approvals.notice (access_request_id, event, stage, number) VALUES (p_id, p_event, r.stage, p_number)
      ON CONFLICT DO NOTHING RETURNING id INTO v_notice;
  END IF;
  IF r.notified AND v_notice IS NOT NULL THEN
    INSERT INTO approvals.outbox (kind, subject_id) VALUES ('notification', v_notice::text);
  END IF;
  -- Less urgent than what somebody is told: an engine that is away takes long to fail.
  IF v_wakes THEN INSERT INTO approvals.outbox (kind, subject_id, urgency) VALUES ('wake', p_id, 1); END IF;
  IF r.notified OR v_wakes THEN PERFORM pg_notify('approvals_outbox', ''); END IF;
END $$;

-- How people are told of an access request, and how it keeps its pace.

-- Whether stages have a pace of their own, reminders or ends, for which a workflow waits, or a resolver that it asks.
CREATE FUNCTION approvals.is_paced(p_stages jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT EXISTS (SELECT FROM jsonb_array_elements(p_stages) AS s (stage)
    WHERE stage ->> 'withinSeconds' IS NOT NULL OR stage ->> 'automatic' IS NOT NULL OR stage -> 'remindAfterSeconds' <> '[]')
$$;

-- Notes what there is to tell of a request whose row the caller has locked, once, and has it sent where somebody is told.
-- What moved the request wakes its workflow, which looks then what is next.
CREATE FUNCTION approvals.tell(p_id text, p_event text, p_number int) RETURNS void LANGUAGE plpgsql AS $$
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

-- The step of the workflow: carries out a deadline that has passed, or notes the reminder that is due. Of several that are
-- due at once only the last is sent: nobody needs all that were missed. Answers in how many milliseconds something is next;
-- 0 when the resolver of the open stage is to be asked first; NULL when the request is over or gone. Calling it again changes nothing.
CREATE FUNCTION approvals.advance_access_request(p_id text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_now timestamptz; v_due int; v_next timestamptz;
BEGIN
  IF approvals.expire_access_request(p_id) IS DISTINCT FROM 'pending' THEN RETURN NULL; END IF;
  -- The row is locked from here on, by the look before.
  SELECT * INTO STRICT r FROM approvals.access_request WHERE id = p_id;
  v_now := clock_timestamp();
  SELECT count(*) FILTER (WHERE at <= v_now), min(at) FILTER (WHERE at > v_now) INTO v_due, v_next
    FROM (SELECT r.stage_opened_at + after::bigint * interval '1 s' AS at
      FROM jsonb_array_elements_text(r.stages -> r.stage - 1 -> 'remindAfterSeconds') AS reminders (after)) AS reminder;
  IF v_due > (SELECT coalesce(max(number), 0) FROM approvals.notice
      WHERE access_request_id = p_id AND stage = r.stage AND event = 'reminder') THEN
    PERFORM approvals.tell(p_id, 'reminder', v_due);
  END IF;
  IF r.stages -> r.stage - 1 ->> 'automatic' IS NOT NULL AND NOT EXISTS
      (SELECT FROM approvals.resolver_answer WHERE access_request_id = p_id AND stage = r.stage) THEN
    RETURN 0;
  END IF;
  RETURN greatest(1, ceil(extract(epoch FROM least(r.expires_at, r.stage_ends_at, v_next) - v_now) * 1000));
END $$;

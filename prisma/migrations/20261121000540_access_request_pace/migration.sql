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

-- When people are reminded of the stage that is open.
CREATE FUNCTION approvals.reminders_of(r approvals.access_request) RETURNS SETOF timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT r.stage_opened_at + after::bigint * interval '1 s'
  FROM jsonb_array_elements_text(r.stages -> r.stage - 1 -> 'remindAfterSeconds') AS reminders (after)
$$;

-- The number of the last reminder that is due, when nobody was told of it yet.
CREATE FUNCTION approvals.missing_reminder(r approvals.access_request, p_now timestamptz) RETURNS int LANGUAGE sql STABLE AS $$
  SELECT count(*)::int FROM approvals.reminders_of(r) AS at WHERE at <= p_now
  HAVING count(*) > (SELECT coalesce(max(number), 0) FROM approvals.notice
    WHERE access_request_id = r.id AND stage = r.stage AND event = 'reminder')
$$;

-- Whether the stage that is open has a resolver which did not answer yet.
CREATE FUNCTION approvals.awaits_resolver(r approvals.access_request) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT r.stages -> r.stage - 1 ->> 'automatic' IS NOT NULL AND NOT EXISTS
    (SELECT FROM approvals.resolver_answer WHERE access_request_id = r.id AND stage = r.stage)
$$;

-- Whether there is something to do for a workflow that nobody does in its place, as deadlines are.
CREATE FUNCTION approvals.is_late(r approvals.access_request) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT approvals.awaits_resolver(r) OR approvals.missing_reminder(r, clock_timestamp()) IS NOT NULL
$$;

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
  v_due := approvals.missing_reminder(r, v_now);
  IF v_due IS NOT NULL THEN PERFORM approvals.tell(p_id, 'reminder', v_due); END IF;
  IF approvals.awaits_resolver(r) THEN RETURN 0; END IF;
  SELECT min(at) INTO v_next FROM approvals.reminders_of(r) AS at WHERE at > v_now;
  RETURN greatest(1, ceil(extract(epoch FROM least(r.expires_at, r.stage_ends_at, v_next) - v_now) * 1000));
END $$;

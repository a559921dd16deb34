-- The step of the workflow: carries out a deadline that has passed, or notes the reminder that is due. Of several that are
-- due at once only the last is sent: nobody needs all that were missed. Answers in how many milliseconds something is next;
-- 0 when the resolver of the open stage is to be asked first; NULL when the request is over or gone. Calling it again changes nothing.
CREATE OR REPLACE FUNCTION approvals.advance_access_request(p_id text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_now timestamptz; v_due int; v_next timestamptz;
BEGIN
  IF approvals.expire_access_request(p_id) IS DISTINCT FROM 'pending' THEN RETURN NULL; END IF;
  -- The row is locked from here on, by the look before.
  SELECT * INTO STRICT r FROM approvals.access_request WHERE id = p_id;
  v_now := clock_timestamp();
  v_due := approvals.missing_reminder(r, v_now);
  IF v_due IS NOT NULL THEN PERFORM approvals.enqueue_notice(p_id, 'reminder', v_due); END IF;
  IF approvals.awaits_resolver(r) THEN RETURN 0; END IF;
  SELECT min(at) INTO v_next FROM approvals.reminders_of(r) AS at WHERE at > v_now;
  RETURN greatest(1, ceil(extract(epoch FROM least(r.expires_at, r.stage_ends_at, v_next) - v_now) * 1000));
END $$;

-- The number of the last reminder that is due, when nobody was told of it yet.
CREATE OR REPLACE FUNCTION approvals.missing_reminder(r approvals.access_request, p_now timestamptz) RETURNS int LANGUAGE sql STABLE AS $$
  SELECT count(*)::int FROM approvals.reminders_of(r) AS at WHERE at <= p_now
  HAVING count(*) > (SELECT coalesce(max(number), 0) FROM approvals.notice
    WHERE access_request_id = r.id AND stage = r.stage AND event = 'reminder')
$$;

-- Returns until when the task of an ended request can be read: at least until its deadline and the end of its approval.
CREATE OR REPLACE FUNCTION approvals.readable_until(r approvals.access_request) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT greatest(r.expires_at, r.approved_until, r.ended_at + r.keep_ms * interval '1 ms')
$$;

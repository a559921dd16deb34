-- Whether there is something to do for a workflow that nobody does in its place, as deadlines are.
CREATE OR REPLACE FUNCTION approvals.is_late(r approvals.access_request) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT approvals.awaits_resolver(r) OR approvals.missing_reminder(r, clock_timestamp()) IS NOT NULL
$$;

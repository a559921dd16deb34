-- When people are reminded of the stage that is open.
CREATE OR REPLACE FUNCTION approvals.reminders_of(r approvals.access_request) RETURNS SETOF timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT r.stage_opened_at + after::bigint * interval '1 s'
  FROM jsonb_array_elements_text(r.stages -> r.stage - 1 -> 'remindAfterSeconds') AS reminders (after)
$$;

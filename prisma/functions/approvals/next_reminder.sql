-- Returns the time of the next reminder after an instant, for a stage that opened at another instant, or NULL if no reminder is
-- left.
CREATE OR REPLACE FUNCTION approvals.next_reminder(p_stage jsonb, p_opened_at timestamptz, p_after timestamptz)
RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT min(p_opened_at + after::bigint * interval '1 s') FROM jsonb_array_elements_text(p_stage -> 'remindAfterSeconds') AS r (after)
    WHERE p_opened_at + after::bigint * interval '1 s' > p_after
$$;

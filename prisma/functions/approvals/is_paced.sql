-- Whether stages have a pace of their own, reminders or ends, for which a workflow waits, or a resolver that it asks.
CREATE OR REPLACE FUNCTION approvals.is_paced(p_stages jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT EXISTS (SELECT FROM jsonb_array_elements(p_stages) AS s (stage)
    WHERE stage ->> 'withinSeconds' IS NOT NULL OR stage ->> 'automatic' IS NOT NULL OR stage -> 'remindAfterSeconds' <> '[]')
$$;

-- Returns when a stage that opens now ends, or NULL if it has no deadline of its own.
CREATE OR REPLACE FUNCTION approvals.stage_end(p_stage jsonb) RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
  SELECT clock_timestamp() + (p_stage ->> 'withinSeconds')::bigint * interval '1 s'
$$;

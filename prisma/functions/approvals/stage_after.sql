-- Returns the stage that follows one that agreed (or, with `p_elapsed`, one that ran out of time), or NULL if it was the last.
CREATE OR REPLACE FUNCTION approvals.stage_after(p_stages jsonb, p_stage int, p_elapsed boolean) RETURNS int LANGUAGE sql IMMUTABLE AS $$
  SELECT min(position)::int FROM jsonb_array_elements(p_stages) WITH ORDINALITY AS s (stage, position)
    WHERE position > p_stage AND (p_elapsed OR NOT coalesce((stage ->> 'onlyOnEscalation')::boolean, false))
$$;

-- Defers the next poll of a call by at least `p_ms`, because the access request service asked for it.
CREATE OR REPLACE FUNCTION gateway.defer_poll(p_call uuid, p_ms bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.gated_call SET poll_at = greatest(poll_at, clock_timestamp() + p_ms * interval '1 ms') WHERE id = p_call;
$$;

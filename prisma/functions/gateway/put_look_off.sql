-- No look before so long has passed: the access request service asked for it.
CREATE OR REPLACE FUNCTION gateway.put_look_off(p_call uuid, p_ms bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.gated_call SET look_at = greatest(look_at, clock_timestamp() + p_ms * interval '1 ms') WHERE id = p_call;
$$;

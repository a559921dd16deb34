-- Keeps what the access request service states about a request, sealed. The first statement stays. The record that is written when the
-- call ends takes it in; it moves nothing.
CREATE OR REPLACE FUNCTION gateway.keep_statement(p_call uuid, p_generation int, p_sealed text) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.submission SET sealed_statement = p_sealed
    WHERE gated_call_id = p_call AND generation = p_generation AND sealed_statement IS NULL;
$$;

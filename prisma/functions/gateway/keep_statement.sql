-- Keeps the sealed statement of the access request service about a request. The first statement stays. The record of the ended
-- call includes it; the statement changes no state.
CREATE OR REPLACE FUNCTION gateway.keep_statement(p_call uuid, p_generation int, p_sealed text) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.submission SET sealed_statement = p_sealed
    WHERE gated_call_id = p_call AND generation = p_generation AND sealed_statement IS NULL;
$$;

-- Takes the right to contact the access request service for a call that has no handle yet. One taker wins. No process wins while
-- the lease of another runs. A process takes over a lease that ran out (its holder died), with the same key and body.
CREATE OR REPLACE FUNCTION gateway.take_submission(p_call uuid, p_lease_ms bigint)
RETURNS TABLE (generation int, endpoint text, idempotency_key text, sealed_body text, call_key text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE c gateway.gated_call; s gateway.submission;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call;
  IF c.ended_at IS NOT NULL THEN RETURN; END IF;
  SELECT * INTO STRICT s FROM gateway.submission WHERE gated_call_id = p_call AND generation = c.generation FOR UPDATE;
  IF s.access_request_key IS NOT NULL OR s.lease_until > clock_timestamp() THEN RETURN; END IF;
  -- The call may have been given up while this waited for the row.
  PERFORM 1 FROM gateway.gated_call WHERE id = p_call AND ended_at IS NULL;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE gateway.submission SET lease_until = clock_timestamp() + p_lease_ms * interval '1 ms' WHERE id = s.id;
  RETURN QUERY SELECT s.generation, s.endpoint, s.idempotency_key, s.sealed_body, k.call_key
    FROM gateway.data_key k WHERE k.gated_call_id = p_call;
END $$;

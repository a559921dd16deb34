-- Gives back the right to submit, so that the next process need not wait for the lease to run out.
CREATE OR REPLACE FUNCTION gateway.release_submission(p_call uuid) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.submission SET lease_until = clock_timestamp()
    WHERE gated_call_id = p_call AND lease_until > clock_timestamp();
$$;

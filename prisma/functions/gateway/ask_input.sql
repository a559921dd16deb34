-- Asks the requester, within the task, for input that a further access request needs and that nothing has asked for yet. The call
-- stays in its generation, and its approval keeps running out. Once the answers are there, the policy is asked again with that
-- approval: a denial can be taken up for minutes only, and people take longer.
--
-- Everything is one commit. `p_keys` and `p_sealed_forms` have the key and the form of each question. A call is denied if its
-- client did not declare that it can answer, if it was asked too often, or if it may have no further generation. Returns the
-- state of the call afterwards.
CREATE OR REPLACE FUNCTION gateway.ask_input(p_call uuid, p_generation int, p_form_digest text, p_keys text[], p_sealed_forms text[],
  p_max_generations int, p_max_rounds int, p_retention_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call; v_now timestamptz;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  v_now := clock_timestamp();
  IF c.state <> 'granted' OR c.generation <> p_generation THEN RETURN c.state; END IF;
  IF c.approval_expires_at <= v_now THEN
    RETURN gateway.expire_gated_call(p_call, p_retention_ms);
  END IF;
  IF p_generation >= p_max_generations THEN
    RETURN gateway.end_unclaimed(p_call, 'denied', 'chain_limit', 're-evaluation', p_retention_ms);
  END IF;
  IF NOT c.takes_input OR p_max_rounds <= (SELECT count(DISTINCT asked_at) FROM gateway.question
      WHERE gated_call_id = p_call AND generation = p_generation) THEN
    RETURN gateway.end_unclaimed(p_call, 'denied', 'input_missing', 're-evaluation', p_retention_ms);
  END IF;
  INSERT INTO gateway.question (key, gated_call_id, generation, form_digest, sealed_form, asked_at)
    SELECT q.key, p_call, p_generation, p_form_digest, q.sealed_form, v_now
    FROM unnest(p_keys, p_sealed_forms) AS q (key, sealed_form);
  PERFORM gateway.transition(p_call, 'input_required', 'input_needed', NULL, 0);
  RETURN 'input_required';
END $$;

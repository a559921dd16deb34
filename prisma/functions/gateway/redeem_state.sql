-- Opens a gated call as `open_gated_call` does, once for each nonce. `redeemed`: the call that was opened or joined with it
-- before, whatever became of it. `late`: it can be redeemed no more.
CREATE OR REPLACE FUNCTION gateway.redeem_state(p_nonce text, p_expires_at timestamptz, p jsonb)
RETURNS TABLE (outcome text, gated_call_id uuid, task_id text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE v record;
BEGIN
  -- Nobody can redeem these any more, also where a clock is set back a little.
  DELETE FROM gateway.redeemed_state WHERE nonce IN (SELECT nonce FROM gateway.redeemed_state
    WHERE expires_at < now() - interval '1 hour' ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED);
  -- Whoever redeems the same one at the same moment waits here for the commit of the first.
  INSERT INTO gateway.redeemed_state (nonce, expires_at) VALUES (p_nonce, p_expires_at) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'redeemed', g.id, g.task_id FROM gateway.redeemed_state r
      JOIN gateway.gated_call g ON g.id = r.gated_call_id WHERE r.nonce = p_nonce;
    RETURN;
  END IF;
  IF p_expires_at <= clock_timestamp() THEN
    DELETE FROM gateway.redeemed_state WHERE nonce = p_nonce;
    RETURN QUERY SELECT 'late', NULL::uuid, NULL::text; RETURN;
  END IF;
  SELECT * INTO STRICT v FROM gateway.open_gated_call(p);
  IF v.gated_call_id IS NULL THEN
    -- Nothing was opened: the same answers can still open it.
    DELETE FROM gateway.redeemed_state WHERE nonce = p_nonce;
  ELSE
    UPDATE gateway.redeemed_state SET gated_call_id = v.gated_call_id WHERE nonce = p_nonce;
  END IF;
  RETURN QUERY SELECT v.outcome, v.gated_call_id, v.task_id;
END $$;

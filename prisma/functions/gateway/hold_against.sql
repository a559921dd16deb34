-- Compares the database with the mark that the engine has of it: epoch and number of claims at its last write, null if the engine
-- has no mark. One of the two may have been lost. An engine that was emptied gets its mark again, and the mark vouches for a
-- server on another timeline. Returns the state of the fence, and the mark to write.
CREATE OR REPLACE FUNCTION gateway.hold_against(p_epoch int, p_claims bigint)
RETURNS TABLE (state text, epoch int, claims bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE e gateway.epoch; v_claims bigint; v_timeline int := gateway.timeline();
BEGIN
  SELECT * INTO STRICT e FROM gateway.epoch;
  SELECT coalesce(max(number), 0) INTO v_claims FROM gateway.execution_claim;
  IF gateway.fence_state() = 'whole' THEN
    IF (p_epoch, p_claims) > (e.number, v_claims) THEN PERFORM gateway.suspend('engine_ahead');
    ELSIF p_epoch IS NULL AND e.timeline <> v_timeline THEN PERFORM gateway.suspend('no_witness');
    ELSIF v_timeline IS NOT NULL AND e.timeline IS DISTINCT FROM v_timeline THEN
      UPDATE gateway.epoch SET timeline = v_timeline;
    END IF;
  END IF;
  RETURN QUERY SELECT gateway.fence_state(), e.number, v_claims;
END $$;

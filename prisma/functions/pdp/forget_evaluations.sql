-- Forgets denials that were put on record longer ago than `p_keep_ms`, except those on which a request may still be made. Clocks
-- may differ by less than the hour that this waits. Returns how many were forgotten.
CREATE OR REPLACE FUNCTION pdp.forget_evaluations(p_keep_ms bigint, p_limit int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_count int;
BEGIN
  DELETE FROM pdp.evaluation WHERE evaluation_id IN (
    SELECT evaluation_id FROM pdp.evaluation WHERE evaluated_at <= clock_timestamp() - p_keep_ms * interval '1 ms'
        AND expires_at <= clock_timestamp() - interval '1 hour'
      ORDER BY evaluated_at LIMIT p_limit FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$;

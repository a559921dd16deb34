-- Deletes the content of ended calls past their retention, and destroys the key that sealed it, so that copies in backups cannot
-- be opened either. Returns how many calls were forgotten.
CREATE OR REPLACE FUNCTION gateway.forget_ended(p_limit int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_id uuid; v_count int := 0;
BEGIN
  FOR v_id IN SELECT id FROM gateway.gated_call WHERE ended_at IS NOT NULL AND forgotten_at IS NULL AND retain_until <= now()
      ORDER BY retain_until LIMIT p_limit FOR UPDATE SKIP LOCKED LOOP
    DELETE FROM gateway.call_result WHERE gated_call_id = v_id;
    DELETE FROM gateway.late_evidence WHERE gated_call_id = v_id;
    DELETE FROM gateway.approval WHERE gated_call_id = v_id;
    DELETE FROM gateway.question WHERE gated_call_id = v_id;
    DELETE FROM gateway.preview WHERE gated_call_id = v_id;
    DELETE FROM gateway.submission WHERE gated_call_id = v_id;
    DELETE FROM gateway.call_binding WHERE gated_call_id = v_id;
    UPDATE gateway.data_key SET call_key = NULL WHERE gated_call_id = v_id;
    UPDATE gateway.gated_call SET forgotten_at = clock_timestamp() WHERE id = v_id;
    v_count := v_count + 1;
  END LOOP;
  RETURN v_count;
END $$;

-- What an ended call consisted of is forgotten when its retention is over. Its outcome record, and what proves it, stays.
ALTER TABLE gateway.gated_call ADD COLUMN forgotten_at timestamptz;
CREATE INDEX gated_call_forgettable ON gateway.gated_call (retain_until) WHERE ended_at IS NOT NULL AND forgotten_at IS NULL;

-- Deletes what ended calls past their retention consisted of, and destroys the key it was sealed with, so that copies of
-- it in backups cannot be opened either. Answers how many calls were forgotten.
CREATE FUNCTION gateway.forget_ended(p_limit int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_id uuid; v_count int := 0;
BEGIN
  FOR v_id IN SELECT id FROM gateway.gated_call WHERE ended_at IS NOT NULL AND forgotten_at IS NULL AND retain_until <= now()
      ORDER BY retain_until LIMIT p_limit FOR UPDATE SKIP LOCKED LOOP
    DELETE FROM gateway.call_result WHERE gated_call_id = v_id;
    DELETE FROM gateway.late_evidence WHERE gated_call_id = v_id;
    DELETE FROM gateway.approval WHERE gated_call_id = v_id;
    DELETE FROM gateway.question WHERE gated_call_id = v_id;
    DELETE FROM gateway.submission WHERE gated_call_id = v_id;
    DELETE FROM gateway.call_binding WHERE gated_call_id = v_id;
    UPDATE gateway.data_key SET call_key = NULL WHERE gated_call_id = v_id;
    UPDATE gateway.gated_call SET forgotten_at = clock_timestamp() WHERE id = v_id;
    v_count := v_count + 1;
  END LOOP;
  RETURN v_count;
END $$;

-- Puts the data keys of a call under another key of the configuration. Nothing that is sealed with them changes. A key that
-- was destroyed meanwhile stays destroyed. Answers whether they still were under the key they were read from.
CREATE FUNCTION gateway.rewrap_data_keys(p_call uuid, p_from text, p_to text, p_call_key text, p_record_key text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE gateway.data_key SET key_id = p_to, record_key = p_record_key,
    call_key = CASE WHEN call_key IS NULL THEN NULL ELSE p_call_key END
    WHERE gated_call_id = p_call AND key_id = p_from;
  RETURN FOUND;
END $$;

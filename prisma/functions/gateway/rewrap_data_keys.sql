-- Puts the data keys of a call under another key of the configuration. The data that they seal does not change. A key that was
-- destroyed meanwhile stays destroyed. Returns whether the data keys were still under the key that they were read with.
CREATE OR REPLACE FUNCTION gateway.rewrap_data_keys(p_call uuid, p_from text, p_to text, p_call_key text, p_record_key text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE gateway.data_key SET key_id = p_to, record_key = p_record_key,
    call_key = CASE WHEN call_key IS NULL THEN NULL ELSE p_call_key END
    WHERE gated_call_id = p_call AND key_id = p_from;
  RETURN FOUND;
END $$;

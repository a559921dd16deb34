-- Notes that the owner of the call was told how it ended.
CREATE OR REPLACE FUNCTION gateway.note_read(p_call uuid) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.gated_call SET read_at = clock_timestamp()
    WHERE id = p_call AND claim_id IS NOT NULL AND ended_at IS NOT NULL AND read_at IS NULL;
$$;

-- Takes calls whose poll is due, and sets the next poll. The pause is as long as the call has waited already, within the limits
-- and up to a fifth shorter, so that many polls do not come together. The worker that takes a call polls it; several workers may
-- take calls at once. It reads along the index, however few calls there are by the statistics and however many are due.
CREATE OR REPLACE FUNCTION gateway.take_polls(p_limit int, p_min_ms bigint, p_max_ms bigint) RETURNS SETOF uuid LANGUAGE sql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
  UPDATE gateway.gated_call SET poll_at = clock_timestamp() + (1 - random() / 5) * greatest(p_min_ms * interval '1 ms',
      least(p_max_ms * interval '1 ms', clock_timestamp() - last_updated_at))
    WHERE id = ANY (ARRAY(SELECT id FROM gateway.gated_call WHERE state = 'pending' AND poll_at <= now()
      ORDER BY poll_at LIMIT p_limit FOR UPDATE SKIP LOCKED))
    RETURNING id;
$$;

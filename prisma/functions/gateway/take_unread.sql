-- Returns the newest identical call that was claimed and has ended within `p_unread_ms`, if its owner was not told how. Identical
-- means the same owner, tool and arguments, as for an open call. A caller that gave up waiting and repeats its call is told then,
-- and the tool does not run once more. From then on an identical call is a call of its own. A call that arrived before the owner was
-- told is told as well: `p_waited_ms` before the statement, which may have waited for locks since. So is the repetition of a lost answer.
CREATE OR REPLACE FUNCTION gateway.take_unread(p_id uuid, p_owner_key text, p_dedup_key text, p_unread_ms bigint,
  p_waited_ms double precision)
RETURNS TABLE (gated_call_id uuid, task_id text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE c gateway.gated_call;
  v_came timestamptz := statement_timestamp() - p_waited_ms * interval '1 ms';
  v_since timestamptz := clock_timestamp() - p_unread_ms * interval '1 ms';
BEGIN
  IF coalesce(p_unread_ms, 0) = 0 THEN RETURN; END IF;
  SELECT * INTO c FROM gateway.gated_call g
    WHERE g.owner_key = p_owner_key AND g.dedup_key = p_dedup_key AND g.claim_id IS NOT NULL
      AND g.ended_at > v_since
    ORDER BY g.ended_at DESC LIMIT 1 FOR UPDATE;
  IF NOT FOUND OR c.forgotten_at IS NOT NULL THEN RETURN; END IF;
  IF c.read_at < v_came AND c.read_by IS DISTINCT FROM p_id THEN RETURN; END IF;
  UPDATE gateway.gated_call g SET read_at = coalesce(c.read_at, clock_timestamp()), read_by = coalesce(c.read_by, p_id)
    WHERE g.id = c.id;
  RETURN QUERY SELECT c.id, c.task_id;
END $$;

-- The newest identical call that was claimed and has ended within `unread_ms`, if its owner was not told how. Identical means the same
-- owner, tool and arguments, as for an open call. A caller that gave up waiting and repeats its call is told then, and the tool does
-- not run once more. From then on an identical call is a call of its own. One that has been on its way for `waited_ms` already is told
-- as well, and so is the repetition of a lost answer.
CREATE OR REPLACE FUNCTION gateway.take_unread(p jsonb) RETURNS TABLE (gated_call_id uuid, task_id text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE c gateway.gated_call; v_id uuid := (p ->> 'id')::uuid;
  v_came timestamptz := clock_timestamp() - (p ->> 'waited_ms')::double precision * interval '1 ms';
  v_since timestamptz := clock_timestamp() - (p ->> 'unread_ms')::bigint * interval '1 ms';
BEGIN
  IF coalesce((p ->> 'unread_ms')::bigint, 0) = 0 THEN RETURN; END IF;
  SELECT * INTO c FROM gateway.gated_call g
    WHERE g.owner_key = p ->> 'owner_key' AND g.dedup_key = p ->> 'dedup_key' AND g.claim_id IS NOT NULL
      AND g.ended_at > v_since
    ORDER BY g.ended_at DESC LIMIT 1 FOR UPDATE;
  IF NOT FOUND OR c.forgotten_at IS NOT NULL THEN RETURN; END IF;
  IF c.read_at < v_came AND c.read_by IS DISTINCT FROM v_id THEN RETURN; END IF;
  UPDATE gateway.gated_call g SET read_at = coalesce(c.read_at, clock_timestamp()), read_by = coalesce(c.read_by, v_id)
    WHERE g.id = c.id;
  RETURN QUERY SELECT c.id, c.task_id;
END $$;

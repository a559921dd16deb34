-- After committed rows may have been lost (a restore, a failover to a server that was behind): what the database says of an
-- open call may be older than what was done. Nothing is claimed, no permit is given and no open call ends until that was looked
-- into. The database notices a restore by itself; what it cannot notice, a worker does that holds it against the engine.
SELECT gateway.stamp(2);

-- `whole`, or why nothing is executed. `restored`: the rows were written elsewhere, or are not all there.
CREATE FUNCTION gateway.fence_state() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT CASE WHEN e.frozen THEN e.found
      WHEN (SELECT count(*) FROM gateway.fence f JOIN pg_database d ON d.oid = f.database
        WHERE d.datname = current_database() AND f.stamped_by::xid = f.xmin) = 2 THEN 'whole' END
    FROM gateway.epoch e), 'restored');
$$;

-- Stops all executions because of what was found. The first finding stays.
CREATE FUNCTION gateway.suspend(p_found text) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.epoch SET frozen = true, found = p_found WHERE gateway.fence_state() = 'whole';
$$;

-- The server's timeline; null where the server does not tell it. Then a new timeline is not noticed.
CREATE FUNCTION gateway.timeline() RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  RETURN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$;

-- Whether a call was claimed before the server began its timeline. After a failover to a server that was behind, its permit to send may
-- be among what was lost, however little that is.
CREATE FUNCTION gateway.is_of_earlier_timeline(p_call uuid) RETURNS boolean LANGUAGE sql AS $$
  SELECT coalesce((SELECT timeline <> gateway.timeline() FROM gateway.execution_claim WHERE gated_call_id = p_call), false);
$$;

-- Holds the database against the mark that the engine has of it: epoch and number of claims when it was last written, null
-- where the engine has none. Of the two, one may have been lost: an engine that was emptied gets its mark anew, and a server
-- on another timeline is vouched for by the mark. Answers the state of the fence, and the mark as it is to be.
CREATE FUNCTION gateway.hold_against(p_epoch int, p_claims bigint)
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

-- Begins to reconcile, in an epoch that is later than the one before and than the latest that the engine knows.
CREATE FUNCTION gateway.freeze(p_known int DEFAULT 0) RETURNS int LANGUAGE sql AS $$
  UPDATE gateway.epoch SET number = greatest(number + (found IS DISTINCT FROM 'reconciling')::int, p_known + 1),
    frozen = true, found = 'reconciling' RETURNING number;
$$;

-- Claims are possible again once both rows of the fence were written in this database.
CREATE FUNCTION gateway.thaw() RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.epoch SET frozen = false, found = NULL, timeline = gateway.timeline();
$$;

-- Ends a call whose claim or permit may be among the lost rows: it may have run, and must not run again.
-- It goes the whole way through the states, so that the record shows each step with its cause. There is nothing left to decide:
-- its access request is given up. Answers the state afterwards.
CREATE FUNCTION gateway.settle_restored(p_call uuid, p_claim uuid, p_retention_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call;
BEGIN
  PERFORM 1 FROM gateway.epoch WHERE frozen;
  IF NOT FOUND THEN RAISE EXCEPTION 'calls are settled after a restore only while the epoch is frozen' USING ERRCODE = 'CS003'; END IF;
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF c.ended_at IS NOT NULL THEN RETURN c.state; END IF;
  IF c.state = 'preparing' THEN PERFORM gateway.move(p_call, 'pending', 'restore', NULL, 0); END IF;
  IF c.state IN ('preparing','input_required','pending') THEN PERFORM gateway.move(p_call, 'granted', 'restore', NULL, 0); END IF;
  IF c.state <> 'claimed' THEN
    UPDATE gateway.gated_call SET claim_id = p_claim WHERE id = p_call;
    PERFORM gateway.move(p_call, 'claimed', 'restore', NULL, 0);
  END IF;
  PERFORM gateway.move(p_call, 'outcome_unknown', 'restore', 'restored', p_retention_ms);
  IF c.state <> 'claimed' THEN PERFORM gateway.enqueue('cancel_access_request', p_call::text); END IF;
  PERFORM gateway.enqueue('poke_workflow', p_call::text);
  RETURN 'outcome_unknown';
END $$;

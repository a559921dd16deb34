-- After committed rows may have been lost (a restore, a failover to a server that was behind), what the database says of an
-- open call may be older than what was done. Nothing is claimed, no permit is given and no open call ends until that was looked
-- into. The database notices a restore by itself; what it cannot notice, a worker does that holds it against the engine.
--
-- `whole`, or why nothing is executed. `restored`: the rows were written elsewhere, or are not all there.
CREATE OR REPLACE FUNCTION gateway.fence_state() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT CASE WHEN e.frozen THEN e.found
      WHEN (SELECT count(*) FROM gateway.fence f JOIN pg_database d ON d.oid = f.database
        WHERE d.datname = current_database() AND f.stamped_by::xid = f.xmin) = 2 THEN 'whole' END
    FROM gateway.epoch e), 'restored');
$$;

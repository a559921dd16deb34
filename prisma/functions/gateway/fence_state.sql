-- Committed rows may be lost (a restore, a failover to a server that was behind). Then the database may hold an older state of an
-- open call than the truth. No call is claimed, no permit is given and no open call ends until an operator has reconciled the
-- calls. The database notices a restore by itself. A worker that compares the database with the engine notices the other cases.
--
-- Returns `whole`, or why nothing is executed. `restored`: the rows were written elsewhere, or some are missing.
CREATE OR REPLACE FUNCTION gateway.fence_state() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT CASE WHEN e.frozen THEN e.found
      WHEN (SELECT count(*) FROM gateway.fence f JOIN pg_database d ON d.oid = f.database
        WHERE d.datname = current_database() AND f.stamped_by::xid = f.xmin) = 2 THEN 'whole' END
    FROM gateway.epoch e), 'restored');
$$;

-- The second row of the fence: its transaction has to be another one than that of the first, and no neighbour of it.
INSERT INTO gateway.fence (place, stamped_by, database)
  SELECT 2, pg_current_xact_id(), oid FROM pg_database WHERE datname = current_database();

-- The second row of the fence. Its transaction must be another one than that of the first row, and not its neighbour.
INSERT INTO gateway.fence (place, stamped_by, database)
  SELECT 2, pg_current_xact_id(), oid FROM pg_database WHERE datname = current_database();

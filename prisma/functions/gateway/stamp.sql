-- Writes one of the two rows of the fence. It must not run below a savepoint, because rows below one carry another transaction
-- number.
CREATE OR REPLACE FUNCTION gateway.stamp(p_place int) RETURNS void LANGUAGE sql AS $$
  INSERT INTO gateway.fence (place, stamped_by, database)
    SELECT p_place, pg_current_xact_id(), oid FROM pg_database WHERE datname = current_database()
    ON CONFLICT (place) DO UPDATE SET stamped_by = excluded.stamped_by, database = excluded.database;
$$;

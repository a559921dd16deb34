-- Returns the server's timeline, or null if the server does not tell it. Then a new timeline is not noticed.
CREATE OR REPLACE FUNCTION gateway.timeline() RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  RETURN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$;

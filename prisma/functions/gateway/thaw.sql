-- Allows claims again, once both rows of the fence were written in this database.
CREATE OR REPLACE FUNCTION gateway.thaw() RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.epoch SET frozen = false, found = NULL, timeline = gateway.timeline();
$$;

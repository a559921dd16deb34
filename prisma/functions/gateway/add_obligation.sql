-- Adds an obligation of a denial. The process that adds it sends it at once, and has as long for that as the delay of the outbox.
-- Returns whether it is new.
CREATE OR REPLACE FUNCTION gateway.add_obligation(p_id text, p_key text, p_message text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM gateway.obligation WHERE sealed_message IS NULL AND added_at < now() - interval '7 days';
  INSERT INTO gateway.obligation (id, message_key, sealed_message) VALUES (p_id, p_key, p_message) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO gateway.outbox (kind, subject_id, urgency, available_at)
    VALUES ('deliver_obligation', p_id, 1, clock_timestamp() + interval '10 seconds');
  RETURN true;
END $$;

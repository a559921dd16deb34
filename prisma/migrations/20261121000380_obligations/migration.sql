-- Obligations of denials, which are carried out though nothing is permitted, once for each evaluation and obligation (the id is
-- made of both). `sealed_message` goes when the obligation was taken or given up; the row stays for a week, for repetitions.
CREATE TABLE gateway.obligation (
  id             text PRIMARY KEY,
  -- The data key of the message, wrapped by a key of the configuration.
  message_key    text,
  sealed_message text,
  added_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT obligation_message CHECK ((message_key IS NULL) = (sealed_message IS NULL))
);
CREATE INDEX obligation_by_time ON gateway.obligation (added_at) WHERE sealed_message IS NULL;

-- Whoever adds it sends it at once, and has as long for it as the delay of the outbox. Answers whether it was not there.
CREATE FUNCTION gateway.add_obligation(p_id text, p_key text, p_message text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM gateway.obligation WHERE sealed_message IS NULL AND added_at < now() - interval '7 days';
  INSERT INTO gateway.obligation (id, message_key, sealed_message) VALUES (p_id, p_key, p_message) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO gateway.outbox (kind, subject_id, urgency, available_at)
    VALUES ('deliver_obligation', p_id, 1, clock_timestamp() + interval '10 seconds');
  RETURN true;
END $$;

CREATE FUNCTION gateway.drop_obligation(p_id text) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.obligation SET message_key = NULL, sealed_message = NULL WHERE id = p_id;
$$;

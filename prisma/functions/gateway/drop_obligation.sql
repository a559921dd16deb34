-- Deletes the message of an obligation that was accepted, or given up.
CREATE OR REPLACE FUNCTION gateway.drop_obligation(p_id text) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.obligation SET message_key = NULL, sealed_message = NULL WHERE id = p_id;
$$;

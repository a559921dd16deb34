-- Accepts a signed callback once and queues a signal to the workflow of its call. A callback is only a hint to read the
-- resolution.
CREATE OR REPLACE FUNCTION gateway.accept_callback(p_webhook_id text, p_body_digest text, p_request_key text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE s gateway.submission; c gateway.gated_call;
BEGIN
  INSERT INTO gateway.callback_inbox (webhook_id, body_digest) VALUES (p_webhook_id, p_body_digest) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN CASE WHEN EXISTS (SELECT 1 FROM gateway.callback_inbox WHERE webhook_id = p_webhook_id
      AND body_digest = p_body_digest) THEN 'repeated' ELSE 'conflict' END;
  END IF;
  SELECT * INTO s FROM gateway.submission WHERE access_request_key = p_request_key;
  SELECT * INTO c FROM gateway.gated_call WHERE id = s.gated_call_id;
  IF FOUND AND c.generation = s.generation AND c.ended_at IS NULL THEN
    PERFORM gateway.enqueue('signal_workflow', c.id::text);
  END IF;
  RETURN 'accepted';
END $$;

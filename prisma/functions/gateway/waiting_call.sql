-- Finds the call whose access request people can decide now, for a signed question about it. A message counts once. Returns no row for
-- any other request, and for a message that came before.
CREATE OR REPLACE FUNCTION gateway.waiting_call(p_webhook_id text, p_body_digest text, p_request_key text)
RETURNS TABLE (gated_call_id uuid, previews int) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO gateway.callback_inbox (webhook_id, body_digest) VALUES (p_webhook_id, p_body_digest) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN; END IF;
  RETURN QUERY SELECT g.id, (SELECT coalesce(max(p.number), 0) FROM gateway.preview p WHERE p.gated_call_id = g.id)
    FROM gateway.submission s JOIN gateway.gated_call g ON g.id = s.gated_call_id AND g.generation = s.generation
    WHERE s.access_request_key = p_request_key AND g.state = 'pending' AND g.due_at > clock_timestamp();
END $$;

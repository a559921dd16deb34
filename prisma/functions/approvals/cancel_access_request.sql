-- Gives a request up, for the client that owns it or (NULL) for the person who asks, as the inbox has found. The note says who gave it up, and
-- why. Outcomes: cancelled, final (it had ended), not_found.
CREATE OR REPLACE FUNCTION approvals.cancel_access_request(p_id text, p_client_id text, p_note jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM approvals.access_request WHERE id = p_id AND client_id = coalesce(p_client_id, client_id) FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  IF approvals.expire_access_request(p_id) <> 'pending' THEN RETURN 'final'; END IF;
  UPDATE approvals.access_request SET status = 'cancelled', ended_at = clock_timestamp(), end_note = p_note WHERE id = p_id;
  PERFORM approvals.announce_end(p_id);
  RETURN 'cancelled';
END $$;

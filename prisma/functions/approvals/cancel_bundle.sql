-- Gives up the open items of a bundle. Items that have ended stay as they are. Outcomes: cancelled, final (all had ended),
-- not_found.
CREATE OR REPLACE FUNCTION approvals.cancel_bundle(p_id text, p_client_id text, p_note jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_item text; v_outcome text := 'final';
BEGIN
  PERFORM 1 FROM approvals.access_request WHERE bundle_id = p_id AND client_id = p_client_id ORDER BY position FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  FOR v_item IN SELECT id FROM approvals.access_request WHERE bundle_id = p_id ORDER BY position LOOP
    IF approvals.cancel_access_request(v_item, p_client_id, p_note) = 'cancelled' THEN v_outcome := 'cancelled'; END IF;
  END LOOP;
  RETURN v_outcome;
END $$;

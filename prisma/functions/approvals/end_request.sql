-- Ends a request whose row the caller has locked, other than by approval.
CREATE OR REPLACE FUNCTION approvals.end_request(p_id text, p_status text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE approvals.access_request SET status = p_status, ended_at = clock_timestamp() WHERE id = p_id;
  PERFORM approvals.announce_end(p_id);
END $$;

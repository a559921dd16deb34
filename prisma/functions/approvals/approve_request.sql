-- Approves a request whose row the caller has locked. The approval ends on a whole second, like the token that proves it, and no
-- later than was asked for. If no time is left to use it, the request fails.
CREATE OR REPLACE FUNCTION approvals.approve_request(p_id text, p_approval_id text, p_approval_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := clock_timestamp(); v_until timestamptz;
BEGIN
  SELECT date_trunc('second', least(v_now + p_approval_ms * interval '1 ms', requested_until)) INTO STRICT v_until
    FROM approvals.access_request WHERE id = p_id;
  IF v_until <= v_now THEN PERFORM approvals.end_request(p_id, 'failed'); RETURN; END IF;
  UPDATE approvals.access_request SET status = 'approved', ended_at = v_now, approval_id = p_approval_id,
    approved_at = v_now, approved_until = v_until WHERE id = p_id;
  PERFORM approvals.announce_end(p_id);
END $$;

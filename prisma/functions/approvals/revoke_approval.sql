-- Takes an approval back. Outcomes: revoked, repeated (it was taken back before), final (no approval exists, or it is over),
-- not_found.
CREATE OR REPLACE FUNCTION approvals.revoke_approval(p_request_id text, p_by_issuer text, p_by_subject text, p_reason text, p_via text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request;
BEGIN
  SELECT * INTO r FROM approvals.access_request WHERE id = p_request_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  IF EXISTS (SELECT FROM approvals.revocation WHERE access_request_id = r.id) THEN RETURN 'repeated'; END IF;
  IF r.status <> 'approved' OR r.approved_until <= clock_timestamp() THEN RETURN 'final'; END IF;
  INSERT INTO approvals.revocation (access_request_id, by_issuer, by_subject, reason, via)
    VALUES (r.id, p_by_issuer, p_by_subject, p_reason, p_via);
  RETURN 'revoked';
END $$;

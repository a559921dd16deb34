-- Takes an approval back. Outcomes: revoked, repeated (it was taken back before), final (there is none, or it is over),
-- not_found.
CREATE OR REPLACE FUNCTION approvals.revoke_approval(p jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request;
BEGIN
  SELECT * INTO r FROM approvals.access_request WHERE id = p ->> 'request_id' FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  IF EXISTS (SELECT FROM approvals.revocation WHERE access_request_id = r.id) THEN RETURN 'repeated'; END IF;
  IF r.status <> 'approved' OR r.approved_until <= clock_timestamp() THEN RETURN 'final'; END IF;
  INSERT INTO approvals.revocation (access_request_id, by_issuer, by_subject, reason, via)
    VALUES (r.id, p ->> 'by_issuer', p ->> 'by_subject', p ->> 'reason', p ->> 'via');
  RETURN 'revoked';
END $$;

-- Gives out a random value that this person may use once: for a registration, or to approve the access request.
CREATE OR REPLACE FUNCTION approvals.issue_passkey_challenge(p_nonce text, p_subject text, p_access_request_id text, p_ttl_ms bigint)
RETURNS void LANGUAGE sql AS $$
  INSERT INTO approvals.passkey_challenge (nonce, subject, access_request_id, expires_at)
    VALUES (p_nonce, p_subject, p_access_request_id, clock_timestamp() + p_ttl_ms * interval '1 ms');
$$;

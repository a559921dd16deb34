-- Uses up a value that was given out to this person for this purpose. Whether it was there, and its time is not over.
CREATE OR REPLACE FUNCTION approvals.spend_passkey_challenge(p_nonce text, p_subject text, p_access_request_id text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM approvals.passkey_challenge WHERE nonce = p_nonce AND subject = p_subject
    AND access_request_id IS NOT DISTINCT FROM p_access_request_id AND expires_at > clock_timestamp();
  RETURN FOUND;
END $$;

-- Removes a passkey of `p_subject`, for `p_by`. It confirms no further vote. Outcomes: revoked (also when it was before), not_found.
CREATE OR REPLACE FUNCTION approvals.revoke_passkey(p_id text, p_subject text, p_by text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM approvals.passkey WHERE id = p_id AND subject = p_subject FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  UPDATE approvals.passkey SET revoked_at = clock_timestamp(), revoked_by = p_by WHERE id = p_id AND revoked_at IS NULL;
  RETURN 'revoked';
END $$;

-- Gives a passkey of this person another name. Outcomes: renamed, not_found.
CREATE OR REPLACE FUNCTION approvals.rename_passkey(p_id text, p_subject text, p_name text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  UPDATE approvals.passkey SET name = p_name WHERE id = p_id AND subject = p_subject AND revoked_at IS NULL;
  RETURN CASE WHEN FOUND THEN 'renamed' ELSE 'not_found' END;
END $$;

-- Ends a delegation of this person. Outcomes: revoked (also when it was before), not_found.
CREATE OR REPLACE FUNCTION approvals.revoke_delegation(p_id text, p_delegator text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM approvals.delegation WHERE id = p_id AND delegator_subject = p_delegator FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  UPDATE approvals.delegation SET revoked_at = clock_timestamp() WHERE id = p_id AND revoked_at IS NULL;
  RETURN 'revoked';
END $$;

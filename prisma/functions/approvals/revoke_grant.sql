-- Ends a grant, by its giver or by a person who oversees all. It holds for each request that has no vote by the grant yet. Outcomes:
-- revoked (also when it was before), not_found.
CREATE OR REPLACE FUNCTION approvals.revoke_grant(p_id text, p_by_subject text, p_oversees boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM approvals."grant" WHERE id = p_id AND (giver_subject = p_by_subject OR p_oversees) FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  UPDATE approvals."grant" SET revoked_at = clock_timestamp(), revoked_by = p_by_subject WHERE id = p_id AND revoked_at IS NULL;
  RETURN 'revoked';
END $$;

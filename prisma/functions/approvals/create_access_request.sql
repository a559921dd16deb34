-- Opens an access request, or finds the one of the same key. A key is looked at before the token, so that a repeated
-- submission is never taken for a replay. Request, key and token are spent in one transaction. Outcomes: created, or those of opened_before.
CREATE OR REPLACE FUNCTION approvals.create_access_request(p jsonb)
RETURNS TABLE (outcome text, id text, expires_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE v_expires timestamptz := approvals.insert_access_request(p);
BEGIN
  IF v_expires IS NULL THEN RETURN QUERY SELECT * FROM approvals.opened_before(p); RETURN; END IF;
  RETURN QUERY SELECT 'created', p ->> 'id', v_expires;
END $$;

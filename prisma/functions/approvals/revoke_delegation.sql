-- Ends a delegation of this person. If it was for one request, a message that asked the other person about it follows. Outcomes: revoked (also when it was before), not_found.
CREATE OR REPLACE FUNCTION approvals.revoke_delegation(p_id text, p_delegator text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM approvals.delegation WHERE id = p_id AND delegator_subject = p_delegator FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  UPDATE approvals.delegation SET revoked_at = clock_timestamp() WHERE id = p_id AND revoked_at IS NULL;
  IF FOUND THEN
    INSERT INTO approvals.message_outbox (kind, subject_id) SELECT m.channel, m.id::text
      FROM approvals.message m JOIN approvals.delegation d ON d.access_request_id = m.access_request_id AND d.delegate_subject = m.person
      WHERE d.id = p_id AND (m.begun_at IS NOT NULL OR m.gathered IS NOT NULL);
    IF FOUND THEN PERFORM pg_notify('approvals_outbox', ''); END IF;
  END IF;
  RETURN 'revoked';
END $$;

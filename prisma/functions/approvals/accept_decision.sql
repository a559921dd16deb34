-- Counts the verdict in a signed message once. The same message again gets the answer it got the first time; another
-- message under the same id is a conflict. Both rows are one transaction, so a crash never loses a vote.
CREATE OR REPLACE FUNCTION approvals.accept_decision(p_source text, p_webhook_id text, p_body_digest text, p_vote jsonb)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_outcome text; v_digest text;
BEGIN
  INSERT INTO approvals.decision_webhook_inbox (source, webhook_id, body_digest)
    VALUES (p_source, p_webhook_id, p_body_digest) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    SELECT outcome, body_digest INTO STRICT v_outcome, v_digest FROM approvals.decision_webhook_inbox
      WHERE source = p_source AND webhook_id = p_webhook_id;
    IF v_digest <> p_body_digest THEN RETURN 'conflict'; END IF;
    RETURN CASE WHEN v_outcome = 'counted' THEN 'repeated' ELSE v_outcome END;
  END IF;
  v_outcome := approvals.cast_vote(p_vote);
  UPDATE approvals.decision_webhook_inbox SET outcome = v_outcome WHERE source = p_source AND webhook_id = p_webhook_id;
  RETURN v_outcome;
END $$;

-- Counts the verdict in a signed message once. The same message again gets the same answer as the first time. Another message
-- under the same id is a conflict. Both rows are one transaction, so a crash never loses a vote.
CREATE OR REPLACE FUNCTION approvals.accept_decision(
  p_source text, p_webhook_id text, p_body_digest text,
  p_request_id text, p_generation int, p_call_digest text,
  p_approver_issuer text, p_approver_subject text, p_approver_name text, p_approver_roles text[],
  p_cast_by text, p_cast_by_name text, p_delegation_id text, p_chain text[], p_actors text[],
  p_stage int, p_judged_stage int, p_lapsed text[], p_electorate text[],
  p_verdict text, p_reason text, p_agent_message text, p_via text, p_approval_id text, p_names text[] DEFAULT NULL
) RETURNS text LANGUAGE plpgsql AS $$
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
  v_outcome := approvals.cast_vote(
    p_request_id => p_request_id, p_generation => p_generation, p_call_digest => p_call_digest,
    p_approver_issuer => p_approver_issuer, p_approver_subject => p_approver_subject, p_approver_name => p_approver_name,
    p_approver_roles => p_approver_roles, p_cast_by => p_cast_by, p_cast_by_name => p_cast_by_name,
    p_delegation_id => p_delegation_id, p_chain => p_chain, p_actors => p_actors, p_stage => p_stage,
    p_judged_stage => p_judged_stage, p_lapsed => p_lapsed, p_electorate => p_electorate, p_verdict => p_verdict,
    p_reason => p_reason, p_agent_message => p_agent_message, p_via => p_via, p_approval_id => p_approval_id, p_names => p_names);
  UPDATE approvals.decision_webhook_inbox SET outcome = v_outcome WHERE source = p_source AND webhook_id = p_webhook_id;
  RETURN v_outcome;
END $$;

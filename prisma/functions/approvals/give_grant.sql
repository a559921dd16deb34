-- Approves a request and gives a grant on it, both or neither. The scope is that of the request. The bounds are those that policy set
-- for it. Outcomes: those of cast_vote; not_grantable (policy allows no grant, or none as large as this). `repeated`: this person
-- gave a grant on this request before.
CREATE OR REPLACE FUNCTION approvals.give_grant(
  p_id text, p_seconds int, p_uses int, p_session text, p_shape text, p_conditions jsonb,
  p_request_id text, p_generation int, p_call_digest text,
  p_approver_issuer text, p_approver_subject text, p_approver_name text, p_approver_roles text[],
  p_cast_by text, p_cast_by_name text, p_delegation_id text, p_chain text[], p_actors text[],
  p_stage int, p_judged_stage int, p_lapsed text[], p_electorate text[],
  p_verdict text, p_reason text, p_agent_message text, p_via text, p_approval_id text,
  p_preview text DEFAULT NULL, p_names text[] DEFAULT NULL
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_now timestamptz; v_outcome text;
BEGIN
  PERFORM approvals.expire_access_request(p_request_id);
  SELECT * INTO r FROM approvals.access_request WHERE id = p_request_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  PERFORM 1 FROM approvals."grant" WHERE access_request_id = r.id AND giver_subject = p_approver_subject;
  IF FOUND THEN RETURN 'repeated'; END IF;
  IF r.status <> 'pending' THEN RETURN 'final'; END IF;
  -- Only the person who is there gives it: not a stand-in, not a program, and never by a denial.
  IF NOT approvals.is_grantable(r) OR p_seconds > r.grant_seconds OR p_uses > r.grant_uses
     OR p_verdict <> 'approve' OR p_via <> 'inbox' OR p_delegation_id IS NOT NULL THEN
    RETURN 'not_grantable';
  END IF;
  v_outcome := approvals.cast_vote(
    p_request_id => p_request_id, p_generation => p_generation, p_call_digest => p_call_digest,
    p_approver_issuer => p_approver_issuer, p_approver_subject => p_approver_subject, p_approver_name => p_approver_name,
    p_approver_roles => p_approver_roles, p_cast_by => p_cast_by, p_cast_by_name => p_cast_by_name,
    p_delegation_id => p_delegation_id, p_chain => p_chain, p_actors => p_actors, p_stage => p_stage,
    p_judged_stage => p_judged_stage, p_lapsed => p_lapsed, p_electorate => p_electorate, p_verdict => p_verdict,
    p_reason => p_reason, p_agent_message => p_agent_message, p_via => p_via, p_approval_id => p_approval_id, p_preview => p_preview, p_names => p_names);
  IF v_outcome <> 'counted' THEN RETURN v_outcome; END IF;
  -- Too late to be used: the request failed, and a grant on it would be a surprise.
  PERFORM 1 FROM approvals.access_request WHERE id = r.id AND status = 'approved';
  IF NOT FOUND THEN RETURN 'final'; END IF;
  v_now := clock_timestamp();
  INSERT INTO approvals."grant" (id, access_request_id, giver_issuer, giver_subject, giver_name, giver_roles, giver_chain, giver_names, client_id,
      template, tool, tool_digest, requester_issuer, requester_subject, requester_client, parties, shape, conditions, max_uses,
      created_at, expires_at, giver_session, ends_at_sign_out)
    VALUES (p_id, r.id, p_approver_issuer, p_approver_subject, p_approver_name, coalesce(p_approver_roles, '{}'),
      coalesce(p_chain, '{}'), coalesce(p_names, '{}'), r.client_id, r.template, r.tool, r.tool_digest, r.requester_issuer, r.requester_subject,
      r.requester_client, r.parties, p_shape, p_conditions, p_uses, v_now, v_now + p_seconds * interval '1 s',
      p_session, approvals.grants_end_at_sign_out(r));
  RETURN 'counted';
END $$;

-- Approves a request that was just opened in the name of the giver of a grant, if the grant covers it. The lock on the grant decides
-- between uses at the same moment, and between a use and a revocation. The caller has compared the arguments with the conditions,
-- and the giver with the directory: neither can change what is stored here. Policy may have changed since the grant was given, so
-- the smaller bound counts. Outcomes: those of cast_vote; not_found, revoked, not_grantable, out_of_scope, over (its time,
-- or the session of its giver), used_up.
CREATE OR REPLACE FUNCTION approvals.use_grant(p_grant_id text, p_request_id text, p_approval_id text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; g approvals."grant"; v_now timestamptz; v_used int; v_outcome text;
BEGIN
  SELECT * INTO STRICT r FROM approvals.access_request WHERE id = p_request_id FOR UPDATE;
  SELECT * INTO g FROM approvals."grant" WHERE id = p_grant_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  v_now := clock_timestamp();
  IF g.revoked_at IS NOT NULL THEN RETURN 'revoked'; END IF;
  IF NOT approvals.is_grantable(r) THEN RETURN 'not_grantable'; END IF;
  IF (r.client_id, r.template, r.tool, r.tool_digest) IS DISTINCT FROM (g.client_id, g.template, g.tool, g.tool_digest)
     OR (r.requester_issuer, r.requester_subject, r.requester_client)
       IS DISTINCT FROM (g.requester_issuer, g.requester_subject, g.requester_client)
     OR NOT (r.parties <@ g.parties AND r.parties @> g.parties) THEN
    RETURN 'out_of_scope';
  END IF;
  IF v_now >= least(g.expires_at, g.created_at + r.grant_seconds * interval '1 s') THEN RETURN 'over'; END IF;
  IF (g.ends_at_sign_out OR approvals.grants_end_at_sign_out(r)) AND NOT approvals.is_signed_in(g.giver_session) THEN
    RETURN 'over';
  END IF;
  SELECT count(*) INTO v_used FROM approvals.grant_use WHERE grant_id = g.id;
  IF v_used >= least(g.max_uses, r.grant_uses) THEN RETURN 'used_up'; END IF;
  v_outcome := approvals.cast_vote(
    p_request_id => r.id, p_generation => r.generation, p_call_digest => r.call_digest,
    p_approver_issuer => g.giver_issuer, p_approver_subject => g.giver_subject, p_approver_name => g.giver_name,
    p_approver_roles => g.giver_roles, p_cast_by => NULL, p_cast_by_name => NULL, p_delegation_id => NULL,
    p_chain => g.giver_chain, p_actors => NULL, p_stage => r.stage, p_judged_stage => r.stage, p_lapsed => NULL,
    p_electorate => NULL, p_verdict => 'approve', p_reason => NULL, p_agent_message => NULL, p_via => 'grant',
    p_approval_id => p_approval_id, p_grant_id => g.id, p_names => g.giver_names);
  IF v_outcome = 'counted' THEN
    INSERT INTO approvals.grant_use (grant_id, number, max_uses, expires_at, access_request_id, at)
      VALUES (g.id, v_used + 1, g.max_uses, g.expires_at, r.id, v_now);
  END IF;
  RETURN v_outcome;
END $$;

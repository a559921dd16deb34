-- Takes the answer of a resolver for the stage it was asked about, once. An approval or a denial is its vote. Any other answer
-- leaves the stage to its people, and the resolver is no longer one of its voters. Outcomes: those of cast_vote; noted (the
-- answer was not a vote), not_eligible (that stage asks another resolver, or no resolver). `repeated`: an earlier answer exists,
-- and stays.
CREATE OR REPLACE FUNCTION approvals.answer_resolver(
  p_resolver text, p_request_id text, p_generation int, p_call_digest text,
  p_approver_issuer text, p_approver_subject text, p_approver_name text, p_approver_roles text[],
  p_cast_by text, p_cast_by_name text, p_delegation_id text, p_chain text[], p_actors text[],
  p_stage int, p_judged_stage int, p_lapsed text[], p_electorate text[],
  p_verdict text, p_reason text, p_agent_message text, p_via text, p_approval_id text, p_names text[] DEFAULT NULL
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_outcome text;
BEGIN
  PERFORM approvals.expire_access_request(p_request_id);
  SELECT * INTO r FROM approvals.access_request WHERE id = p_request_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  IF r.stages -> p_stage - 1 ->> 'automatic' IS DISTINCT FROM p_resolver
     OR p_approver_subject IS DISTINCT FROM 'automatic:' || p_resolver THEN
    RETURN 'not_eligible';
  END IF;
  PERFORM 1 FROM approvals.resolver_answer WHERE access_request_id = p_request_id AND stage = p_stage;
  IF FOUND THEN RETURN 'repeated'; END IF;
  v_outcome := CASE
    WHEN p_verdict IN ('approve','deny') THEN approvals.cast_vote(
      p_request_id => p_request_id, p_generation => p_generation, p_call_digest => p_call_digest,
      p_approver_issuer => p_approver_issuer, p_approver_subject => p_approver_subject, p_approver_name => p_approver_name,
      p_approver_roles => p_approver_roles, p_cast_by => p_cast_by, p_cast_by_name => p_cast_by_name,
      p_delegation_id => p_delegation_id, p_chain => p_chain, p_actors => p_actors, p_stage => p_stage,
      p_judged_stage => p_judged_stage, p_lapsed => p_lapsed, p_electorate => p_electorate, p_verdict => p_verdict,
      p_reason => p_reason, p_agent_message => p_agent_message, p_via => p_via, p_approval_id => p_approval_id, p_names => p_names)
    WHEN r.status <> 'pending' THEN 'final'
    WHEN r.stage <> p_stage THEN 'stage_over'
    ELSE 'noted' END;
  INSERT INTO approvals.resolver_answer (access_request_id, stage, resolver, verdict, reason, call_digest, outcome)
    VALUES (p_request_id, p_stage, p_resolver, p_verdict, p_reason, p_call_digest, v_outcome);
  IF v_outcome = 'noted' THEN PERFORM approvals.settle_stage(p_request_id, p_lapsed, p_electorate, p_approval_id); END IF;
  RETURN v_outcome;
END $$;

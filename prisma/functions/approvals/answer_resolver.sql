-- Takes the answer of a resolver for the stage it was asked about, once: an approval or a denial is its vote, and whatever else
-- leaves the stage to its people, of whom it is none any more. Outcomes: those of cast_vote; noted (it was no vote),
-- not_eligible (that stage asks another one, or none). `repeated`: there was an answer before, which stays.
CREATE OR REPLACE FUNCTION approvals.answer_resolver(p jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_id text := p ->> 'request_id'; v_stage int := (p ->> 'stage')::int; v_outcome text;
BEGIN
  PERFORM approvals.expire_access_request(v_id);
  SELECT * INTO r FROM approvals.access_request WHERE id = v_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  IF r.stages -> v_stage - 1 ->> 'automatic' IS DISTINCT FROM p ->> 'resolver'
     OR p ->> 'approver_subject' IS DISTINCT FROM 'automatic:' || (p ->> 'resolver') THEN
    RETURN 'not_eligible';
  END IF;
  PERFORM 1 FROM approvals.resolver_answer WHERE access_request_id = v_id AND stage = v_stage;
  IF FOUND THEN RETURN 'repeated'; END IF;
  v_outcome := CASE
    WHEN p ->> 'verdict' IN ('approve','deny') THEN approvals.cast_vote(p)
    WHEN r.status <> 'pending' THEN 'final'
    WHEN r.stage <> v_stage THEN 'stage_over'
    ELSE 'noted' END;
  INSERT INTO approvals.resolver_answer (access_request_id, stage, resolver, verdict, reason, call_digest, outcome)
    VALUES (v_id, v_stage, p ->> 'resolver', p ->> 'verdict', p ->> 'reason', p ->> 'call_digest', v_outcome);
  IF v_outcome = 'noted' THEN PERFORM approvals.settle_stage(v_id, p); END IF;
  RETURN v_outcome;
END $$;

-- What automatic resolvers answered. Each is asked once for a stage: the primary key keeps a second answer out, which a step
-- that was repeated after a crash may bring. `failed`: there was none that could be understood. `outcome` is what became of it.
CREATE TABLE approvals.resolver_answer (
  access_request_id text NOT NULL REFERENCES approvals.access_request ON DELETE CASCADE,
  stage             integer NOT NULL,
  resolver          text NOT NULL,
  verdict           text NOT NULL CHECK (verdict IN ('approve','deny','abstain','failed')),
  reason            text,
  call_digest       text NOT NULL,
  outcome           text NOT NULL,
  at                timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (access_request_id, stage)
);
CREATE TRIGGER resolver_answer_immutable BEFORE UPDATE OR DELETE ON approvals.resolver_answer
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();

-- Nobody who signs in bears the name of a resolver, and a resolver votes in its own name alone.
ALTER TABLE approvals.vote ADD CONSTRAINT vote_automatic
  CHECK ((via = 'automatic') = starts_with(approver_subject, 'automatic:') AND (via <> 'automatic' OR cast_by = approver_subject));

-- Takes the answer of a resolver for the stage it was asked about, once: an approval or a denial is its vote, and whatever else
-- leaves the stage to its people, of whom it is none any more. Outcomes: those of cast_vote; noted (it was no vote),
-- not_eligible (that stage asks another one, or none). `repeated`: there was an answer before, which stays.
CREATE FUNCTION approvals.answer_resolver(p jsonb) RETURNS text LANGUAGE plpgsql AS $$
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

-- Asks the requester of an open request a question. It decides nothing and stops no clock. The person may vote now in the stage, in their own
-- name or by a delegation: the caller judged that for `p_judged_stage`. Neither they nor the approver in whose place they ask have a part in
-- the request, or have spoken in it. The requester is a person of a known issuer, and not the program that asks. `p_names` are all names of both, as names are
-- compared. `p_number` is one more than
-- the questions of this person that they saw, so the same form counts once. Outcomes: asked, repeated (the same form again), asked_before (the
-- person has asked since), too_many_questions (5 wait for an answer, or 20 were asked), no_person (no person could answer), final, stage_over,
-- already_voted, delegation_over, own_request, delegate_of_requester, not_found.
CREATE OR REPLACE FUNCTION approvals.ask_requester(p_request_id text, p_by_issuer text, p_by_subject text, p_by_name text, p_chain text[],
  p_approver_subject text, p_delegation_id text, p_stage int, p_judged_stage int, p_number int, p_question text, p_via text,
  p_names text[] DEFAULT NULL)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_part text; v_asked text[]; v_all int; v_open int; v_voices text[];
BEGIN
  PERFORM approvals.expire_access_request(p_request_id);
  SELECT * INTO r FROM approvals.access_request WHERE id = p_request_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  v_voices := approvals.names_in_vote(p_names, p_approver_subject, p_by_subject, '{}');
  v_part := approvals.part_in(v_voices || coalesce(p_chain, '{}'), r.parties, r.created_at);
  IF v_part IS NOT NULL THEN RETURN v_part; END IF;
  SELECT coalesce(array_agg(question ORDER BY number), '{}') INTO v_asked FROM approvals.requester_question
    WHERE access_request_id = r.id AND by_subject = p_by_subject;
  IF p_number <= cardinality(v_asked) THEN
    RETURN CASE WHEN v_asked[p_number] = p_question THEN 'repeated' ELSE 'asked_before' END;
  END IF;
  IF r.status <> 'pending' THEN RETURN 'final'; END IF;
  IF r.stage IS DISTINCT FROM p_stage OR r.stage IS DISTINCT FROM p_judged_stage THEN RETURN 'stage_over'; END IF;
  IF p_number IS DISTINCT FROM cardinality(v_asked) + 1 THEN RETURN 'asked_before'; END IF;
  IF approvals.has_spoken(r, v_voices) THEN RETURN 'already_voted'; END IF;
  -- The delegation is locked, so that it cannot be revoked between this check and the question.
  PERFORM 1 FROM approvals.delegation WHERE id = p_delegation_id AND delegator_subject = p_approver_subject
    AND delegate_subject = p_by_subject AND revoked_at IS NULL AND until > clock_timestamp()
    AND coalesce(access_request_id, r.id) = r.id FOR SHARE;
  IF NOT FOUND AND p_approver_subject IS DISTINCT FROM p_by_subject THEN RETURN 'delegation_over'; END IF;
  IF (r.requester_issuer IS NOT NULL AND r.requester_subject IS DISTINCT FROM r.requester_client) IS NOT TRUE THEN RETURN 'no_person'; END IF;
  SELECT count(*), count(*) FILTER (WHERE a.number IS NULL) INTO v_all, v_open FROM approvals.requester_question q
    LEFT JOIN approvals.requester_answer a USING (access_request_id, number) WHERE access_request_id = r.id;
  IF v_open >= 5 OR v_all >= 20 THEN RETURN 'too_many_questions'; END IF;
  INSERT INTO approvals.requester_question (access_request_id, number, stage, by_issuer, by_subject, by_name, on_behalf_of, question, via, at)
    VALUES (r.id, v_all + 1, r.stage, p_by_issuer, p_by_subject, p_by_name, nullif(p_approver_subject, p_by_subject), p_question, p_via,
      clock_timestamp());
  PERFORM approvals.enqueue_notice(r.id, 'question_asked', v_all + 1);
  RETURN 'asked';
END $$;

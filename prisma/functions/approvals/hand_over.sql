-- Hands one request to another person, who may then decide it in the place of an approver of its open stage: a delegation for this request
-- alone. The approver keeps their vote, and both have one voice. The caller judged that the approver may decide in `p_judged_stage`, and that
-- the other is a person who may. Neither may have a part in the request, or have spoken in it. `p_number` is one more than the hand-overs of
-- this request that the approver saw of their own, so the same form counts once. Outcomes: handed_over, repeated (the same form again),
-- handed_before (another hand-over is in force, or was made since), final, stage_over, already_voted, delegate_voted, delegate_has_part,
-- to_oneself (both are one person), own_request, delegate_of_requester, not_found. `p_delegator_names` and `p_delegate_names` are all names
-- of the two, as names are compared.
CREATE OR REPLACE FUNCTION approvals.hand_over(p_id text, p_request_id text, p_delegator_issuer text, p_delegator_subject text,
  p_delegator_roles text[], p_delegator_chain text[], p_delegate_subject text, p_stage int, p_judged_stage int, p_number int,
  p_delegator_names text[] DEFAULT NULL, p_delegate_names text[] DEFAULT NULL)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_part text; v_made text[]; v_now timestamptz; v_told int;
  v_from text[] := p_delegator_subject || coalesce(p_delegator_names, '{}'); v_to text[] := p_delegate_subject || coalesce(p_delegate_names, '{}');
BEGIN
  PERFORM approvals.expire_access_request(p_request_id);
  SELECT * INTO r FROM approvals.access_request WHERE id = p_request_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  v_part := approvals.part_in(v_from || coalesce(p_delegator_chain, '{}'), r.parties, r.created_at);
  IF v_part IS NOT NULL THEN RETURN v_part; END IF;
  SELECT coalesce(array_agg(delegate_subject ORDER BY created_at), '{}') INTO v_made FROM approvals.delegation
    WHERE access_request_id = r.id AND delegator_names && v_from;
  IF p_number <= cardinality(v_made) THEN
    RETURN CASE WHEN v_made[p_number] = p_delegate_subject THEN 'repeated' ELSE 'handed_before' END;
  END IF;
  IF r.status <> 'pending' THEN RETURN 'final'; END IF;
  IF r.stage IS DISTINCT FROM p_stage OR r.stage IS DISTINCT FROM p_judged_stage THEN RETURN 'stage_over'; END IF;
  IF p_number IS DISTINCT FROM cardinality(v_made) + 1 THEN RETURN 'handed_before'; END IF;
  PERFORM 1 FROM approvals.delegation WHERE access_request_id = r.id AND delegator_names && v_from AND revoked_at IS NULL;
  IF FOUND THEN RETURN 'handed_before'; END IF;
  IF v_from && v_to THEN RETURN 'to_oneself'; END IF;
  IF approvals.part_in(v_to, r.parties, r.created_at) IS NOT NULL THEN RETURN 'delegate_has_part'; END IF;
  IF approvals.has_spoken(r, v_from) THEN RETURN 'already_voted'; END IF;
  IF approvals.has_spoken(r, v_to) THEN RETURN 'delegate_voted'; END IF;
  v_now := clock_timestamp();
  INSERT INTO approvals.delegation (id, delegator_issuer, delegator_subject, delegator_roles, delegator_chain, delegate_subject, created_at,
      until, access_request_id, delegator_names, delegate_names)
    VALUES (p_id, p_delegator_issuer, p_delegator_subject, coalesce(p_delegator_roles, '{}'), coalesce(p_delegator_chain, '{}'),
      p_delegate_subject, v_now, least(r.expires_at, v_now + interval '92 days'), r.id, v_from, v_to);
  SELECT count(*) INTO v_told FROM approvals.notice WHERE access_request_id = r.id AND stage = r.stage AND event = 'handed_over';
  PERFORM approvals.enqueue_notice(r.id, 'handed_over', v_told + 1);
  RETURN 'handed_over';
END $$;

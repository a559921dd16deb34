-- Counts one approver's verdict in the stage for which they were found eligible, and ends the stage when that settles it. Who
-- asked may not decide, nor may their delegates, nor may they stand behind the vote in any other way (`chain`: other names of the voter, the
-- client and the actors of their token), whatever the callers of this function checked. `stage` is the one that the
-- voter looked at; whoever names none means the one that is open, and has voted when they ever did, so that a retry is no vote
-- in the next stage. With a `delegation_id`, `cast_by` speaks for the approver: then neither may have spoken or been spoken for. Nor may
-- any of `actors`, who act for the voter by their token: otherwise a person with a token of another would have two voices.
-- Outcomes: counted, repeated (the same verdict again), already_voted, final, mismatch, stage_over, own_request,
-- delegate_of_requester, delegation_over, not_found.
CREATE OR REPLACE FUNCTION approvals.cast_vote(p jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_id text := p ->> 'request_id'; v_earlier approvals.vote;
  v_approver text := p ->> 'approver_subject'; v_voice text := coalesce(p ->> 'cast_by', v_approver);
  v_actors text[] := ARRAY(SELECT jsonb_array_elements_text(p -> 'actors'));
  v_names text[] := ARRAY[v_approver, v_voice] || ARRAY(SELECT jsonb_array_elements_text(p -> 'chain')); v_part text;
BEGIN
  PERFORM approvals.expire_access_request(v_id);
  SELECT * INTO r FROM approvals.access_request WHERE id = v_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  v_part := approvals.part_in(v_names, r.parties, r.created_at);
  IF v_part IS NOT NULL THEN RETURN v_part; END IF;
  -- Whoever names no generation means the only one this request has.
  IF r.generation <> coalesce((p ->> 'generation')::int, r.generation) OR r.call_digest IS DISTINCT FROM p ->> 'call_digest' THEN
    RETURN 'mismatch';
  END IF;
  SELECT * INTO v_earlier FROM approvals.vote WHERE access_request_id = v_id
    AND (ARRAY[approver_subject, cast_by] || actors) && (ARRAY[v_approver, v_voice] || v_actors)
    AND (counts_in = 0 OR counts_in = coalesce((p ->> 'stage')::int, counts_in)) ORDER BY at DESC LIMIT 1;
  IF FOUND THEN
    RETURN CASE WHEN (v_earlier.verdict, v_earlier.approver_subject, v_earlier.cast_by) = (p ->> 'verdict', v_approver, v_voice)
      THEN 'repeated' ELSE 'already_voted' END;
  END IF;
  IF r.status <> 'pending' THEN RETURN 'final'; END IF;
  IF r.stage IS DISTINCT FROM (p ->> 'judged_stage')::int OR r.stage <> coalesce((p ->> 'stage')::int, r.stage) THEN
    RETURN 'stage_over';
  END IF;
  -- Locked, so that none is revoked between this look and the vote.
  PERFORM 1 FROM approvals.delegation WHERE id = p ->> 'delegation_id' AND delegator_subject = v_approver
    AND delegate_subject = v_voice AND revoked_at IS NULL AND until > clock_timestamp() FOR SHARE;
  IF NOT FOUND AND v_approver <> v_voice THEN RETURN 'delegation_over'; END IF;
  INSERT INTO approvals.vote (access_request_id, stage, counts_in, approver_issuer, approver_subject, approver_name, approver_roles,
      cast_by, cast_by_name, actors, delegation_id, verdict, reason, call_digest, via)
    VALUES (v_id, r.stage, CASE WHEN r.separate_stages THEN 0 ELSE r.stage END, p ->> 'approver_issuer', v_approver,
      p ->> 'approver_name', ARRAY(SELECT jsonb_array_elements_text(p -> 'approver_roles')), v_voice, p ->> 'cast_by_name', v_actors,
      p ->> 'delegation_id', p ->> 'verdict',
      p ->> 'reason', p ->> 'call_digest', p ->> 'via');
  PERFORM approvals.settle_stage(v_id, p);
  RETURN 'counted';
END $$;

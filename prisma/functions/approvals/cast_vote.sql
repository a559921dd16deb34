-- Counts one approver's verdict in the stage for which they were found eligible, and ends the stage if that settles it. The
-- requester and their delegates may not decide. They may not stand behind the vote in any other way either (`p_chain`: other
-- names of the voter, the client and the actors of their token). This function checks that even if its callers did. The one
-- exception is a stage that lets the requester confirm, by the browser session `p_session` (`own_names_in`). `p_stage` is
-- the stage that the voter looked at. A voter who names no stage means the open one, and has voted if they ever did, so that a
-- retry is not a vote in the next stage. `p_names` are all names of those who have a voice in the vote, as names are compared: a person
-- who has one of them in common with an earlier vote is the same person. With a `p_delegation_id`, `p_cast_by` speaks for the approver. Then neither may have
-- spoken or been spoken for. Nor may any of `p_actors`, who act for the voter by their token: otherwise a person with a token of
-- another would have two voices. If the stage demands a passkey, an approval needs its assertion (see use_passkey). With a
-- `p_grant_id`, the vote is a use of that grant, which `use_grant` counts. A vote from a chat counts only in a stage that allows it.
-- `p_preview` is the digest of the preview that the voter had before them. No vote rests on it; the record names it.
-- Outcomes: counted, repeated (the same verdict again), already_voted, final, mismatch, stage_over, own_request,
-- delegate_of_requester, not_in_chat, sign_in_too_old, delegation_over, not_found, and those of use_passkey.
CREATE OR REPLACE FUNCTION approvals.cast_vote(
  p_request_id text, p_generation int, p_call_digest text,
  p_approver_issuer text, p_approver_subject text, p_approver_name text, p_approver_roles text[],
  p_cast_by text, p_cast_by_name text, p_delegation_id text, p_chain text[], p_actors text[],
  p_stage int, p_judged_stage int, p_lapsed text[], p_electorate text[],
  p_verdict text, p_reason text, p_agent_message text, p_via text, p_approval_id text,
  p_passkey_assertion jsonb DEFAULT NULL, p_passkey_counter bigint DEFAULT NULL, p_grant_id text DEFAULT NULL,
  p_session text DEFAULT NULL, p_preview text DEFAULT NULL, p_names text[] DEFAULT NULL
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_earlier approvals.vote;
  v_approver text := p_approver_subject; v_voice text := coalesce(p_cast_by, v_approver);
  v_actors text[] := coalesce(p_actors, '{}');
  v_voices text[] := approvals.names_in_vote(p_names, v_approver, v_voice, v_actors); v_part text; v_own text[]; v_fresh boolean;
  v_passkey text; v_stage jsonb;
BEGIN
  PERFORM approvals.expire_access_request(p_request_id);
  SELECT * INTO r FROM approvals.access_request WHERE id = p_request_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  v_stage := r.stages -> r.stage - 1;
  -- Only in their own name, and without a program behind the vote.
  IF p_via = 'inbox' AND v_voice = v_approver AND p_delegation_id IS NULL AND v_actors = '{}' THEN
    SELECT names, is_fresh INTO v_own, v_fresh FROM approvals.own_names_in(v_stage, p_session)
      WHERE issuer = p_approver_issuer AND subject = v_approver;
  END IF;
  v_part := approvals.part_in(ARRAY(SELECT unnest(v_voices || coalesce(p_chain, '{}')) EXCEPT SELECT unnest(v_own)), r.parties, r.created_at);
  IF v_part IS NOT NULL THEN RETURN v_part; END IF;
  -- A voter who names no generation means the only one that this request has.
  IF r.generation <> coalesce(p_generation, r.generation) OR r.call_digest IS DISTINCT FROM p_call_digest THEN
    RETURN 'mismatch';
  END IF;
  SELECT * INTO v_earlier FROM approvals.vote WHERE access_request_id = p_request_id
    AND names && v_voices
    AND (counts_in = 0 OR counts_in = coalesce(p_stage, counts_in)) ORDER BY at DESC LIMIT 1;
  IF FOUND THEN
    -- A voter who names another stage than that of their vote casts a second one.
    RETURN CASE WHEN (v_earlier.verdict, v_earlier.approver_subject, v_earlier.cast_by, v_earlier.stage)
        = (p_verdict, v_approver, v_voice, coalesce(p_stage, v_earlier.stage)) THEN 'repeated' ELSE 'already_voted' END;
  END IF;
  IF r.status <> 'pending' THEN RETURN 'final'; END IF;
  IF r.stage IS DISTINCT FROM p_judged_stage OR r.stage <> coalesce(p_stage, r.stage) THEN
    RETURN 'stage_over';
  END IF;
  -- What approves in a chat is an account there. It is no passkey and no recent sign-in, so it takes the place of neither.
  IF p_via = 'slack' AND (v_stage -> 'chatDecisions' IS DISTINCT FROM 'true' OR v_stage -> 'passkey' = 'true'
      OR v_stage -> 'approvers' ? 'requester') THEN
    RETURN 'not_in_chat';
  END IF;
  IF v_own IS NOT NULL AND NOT v_fresh THEN RETURN 'sign_in_too_old'; END IF;
  -- The delegation is locked, so that it cannot be revoked between this check and the vote.
  PERFORM 1 FROM approvals.delegation WHERE id = p_delegation_id AND delegator_subject = v_approver
    AND delegate_subject = v_voice AND revoked_at IS NULL AND until > clock_timestamp()
    AND coalesce(access_request_id, r.id) = r.id FOR SHARE;
  IF NOT FOUND AND v_approver <> v_voice THEN RETURN 'delegation_over'; END IF;
  IF p_verdict = 'approve' AND v_stage -> 'passkey' = 'true' THEN
    v_passkey := approvals.use_passkey(r, v_approver, v_voice, p_via, p_passkey_assertion, p_passkey_counter);
    IF v_passkey IS NOT NULL THEN RETURN v_passkey; END IF;
  ELSE
    p_passkey_assertion := NULL;
  END IF;
  INSERT INTO approvals.vote (access_request_id, stage, counts_in, approver_issuer, approver_subject, approver_name, approver_roles,
      cast_by, cast_by_name, actors, names, delegation_id, as_requester, verdict, reason, agent_message, call_digest, via,
      passkey_assertion, grant_id, preview_digest)
    VALUES (p_request_id, r.stage, CASE WHEN r.separate_stages THEN 0 ELSE r.stage END, p_approver_issuer, v_approver,
      p_approver_name, coalesce(p_approver_roles, '{}'), v_voice, p_cast_by_name, v_actors, v_voices,
      p_delegation_id, v_own IS NOT NULL, p_verdict, p_reason, p_agent_message, p_call_digest, p_via,
      p_passkey_assertion, p_grant_id, p_preview);
  PERFORM approvals.settle_stage(p_request_id, p_lapsed, p_electorate, p_approval_id);
  -- The messages to these people are over, even if others still have to vote. The end of a stage is told by its own notice.
  INSERT INTO approvals.message_outbox (kind, subject_id) SELECT m.channel, m.id::text
    FROM approvals.message m JOIN approvals.access_request a ON a.id = m.access_request_id
    WHERE a.id = p_request_id AND a.status = 'pending' AND a.stage = r.stage
      AND m.person = ANY (v_voices) AND (m.begun_at IS NOT NULL OR m.gathered IS NOT NULL);
  IF FOUND THEN PERFORM pg_notify('approvals_outbox', ''); END IF;
  RETURN 'counted';
END $$;

-- How an access request comes about, is voted on, and ends.

-- Queues the callback of a request that has just ended, if somebody asked for it.
CREATE FUNCTION approvals.announce_end(p_id text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- No list of events means all of them.
  INSERT INTO approvals.outbox (kind, subject_id) SELECT 'callback', id FROM approvals.access_request
    WHERE id = p_id AND callback_endpoint IS NOT NULL AND (callback_events IS NULL OR status = ANY (callback_events));
  IF FOUND THEN PERFORM pg_notify('approvals_outbox', ''); END IF;
  PERFORM approvals.announce_bundle(bundle_id) FROM approvals.access_request WHERE id = p_id AND bundle_id IS NOT NULL;
  PERFORM approvals.tell(p_id, 'ended', 1);
END $$;

-- Ends a request whose row the caller has locked, other than by approval.
CREATE FUNCTION approvals.end_request(p_id text, p_status text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE approvals.access_request SET status = p_status, ended_at = clock_timestamp() WHERE id = p_id;
  PERFORM approvals.announce_end(p_id);
END $$;

-- Approves a request whose row the caller has locked. The approval ends on a whole second, like the token that proves
-- it, and no later than was asked for; when there is no time left to use it, the request has failed.
CREATE FUNCTION approvals.approve_request(p_id text, p_approval_id text, p_approval_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := clock_timestamp(); v_until timestamptz;
BEGIN
  SELECT date_trunc('second', least(v_now + p_approval_ms * interval '1 ms', requested_until)) INTO STRICT v_until
    FROM approvals.access_request WHERE id = p_id;
  IF v_until <= v_now THEN PERFORM approvals.end_request(p_id, 'failed'); RETURN; END IF;
  UPDATE approvals.access_request SET status = 'approved', ended_at = v_now, approval_id = p_approval_id,
    approved_at = v_now, approved_until = v_until WHERE id = p_id;
  PERFORM approvals.announce_end(p_id);
END $$;

-- When a stage that opens now ends; NULL when it has no deadline of its own.
CREATE FUNCTION approvals.stage_end(p_stage jsonb) RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
  SELECT clock_timestamp() + (p_stage ->> 'withinSeconds')::bigint * interval '1 s'
$$;

-- The stage that follows one that agreed (or, where that is said, ran out of time); NULL when none does.
CREATE FUNCTION approvals.stage_after(p_stages jsonb, p_stage int, p_elapsed boolean) RETURNS int LANGUAGE sql IMMUTABLE AS $$
  SELECT min(position)::int FROM jsonb_array_elements(p_stages) WITH ORDINALITY AS s (stage, position)
    WHERE position > p_stage AND (p_elapsed OR NOT coalesce((stage ->> 'onlyOnEscalation')::boolean, false))
$$;

-- `p_event` says how it came about: opened, escalated.
CREATE FUNCTION approvals.open_stage(p_id text, p_stage int, p_event text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE approvals.access_request SET stage = p_stage, stage_opened_at = clock_timestamp(),
    stage_ends_at = approvals.stage_end(stages -> p_stage - 1) WHERE id = p_id;
  PERFORM approvals.tell(p_id, p_event, 1);
END $$;

-- Inserts an access request. Answers when it expires; NULL when its key or its denial was used before, by this or another bundle
-- or by itself.
CREATE FUNCTION approvals.insert_access_request(p jsonb) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := clock_timestamp(); v_expires timestamptz := v_now + (p ->> 'ttl_ms')::bigint * interval '1 ms';
BEGIN
  INSERT INTO approvals.access_request (id, client_id, submitted_by, idempotency_key, body_digest, bundle_id, position, evaluation_id, trace_id, token_jti, denial_part,
      subject, action, resource, context, claimed, keep_ms, tool, template, policies, reason, title, description, requester_issuer, requester_subject,
      requester_client, generation, call_digest, binding_hash, binding_context_members, requested_until,
      callback_endpoint, callback_state, callback_events, parties, stages, separate_stages, approval_ms, notified, stage_ends_at,
      created_at, expires_at)
    SELECT r.id, r.client_id, r.submitted_by, r.idempotency_key, r.body_digest, r.bundle_id, coalesce(r.position, 1), r.evaluation_id, r.trace_id, r.token_jti,
      coalesce(r.denial_part, 1),
      r.subject, r.action, r.resource, r.context, r.claimed, r.keep_ms, r.tool, r.template, r.policies, r.reason, r.title, r.description, r.requester_issuer,
      r.requester_subject, r.requester_client, r.generation, r.call_digest, r.binding_hash, r.binding_context_members,
      r.requested_until, r.callback_endpoint, r.callback_state, r.callback_events, r.parties, r.stages, r.separate_stages,
      r.approval_ms, coalesce(r.notified, false), approvals.stage_end(r.stages -> 0), v_now, v_expires
    FROM jsonb_populate_record(NULL::approvals.access_request, p) r
    ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM approvals.tell(p ->> 'id', 'opened', 1);
  RETURN v_expires;
END $$;

-- What a submission that could not be opened ran into, by its client, key and body. Outcomes: repeated, conflict (the key stands for
-- another body), replayed (the denial was used before).
CREATE FUNCTION approvals.opened_before(p jsonb) RETURNS TABLE (outcome text, id text, expires_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE v_found approvals.access_request;
BEGIN
  SELECT * INTO v_found FROM approvals.access_request a
    WHERE a.client_id = p ->> 'client_id' AND a.idempotency_key = p ->> 'idempotency_key';
  IF NOT FOUND THEN RETURN QUERY SELECT 'replayed', NULL::text, NULL::timestamptz; RETURN; END IF;
  RETURN QUERY SELECT CASE WHEN v_found.body_digest = p ->> 'body_digest' THEN 'repeated' ELSE 'conflict' END,
    coalesce(v_found.bundle_id, v_found.id), v_found.expires_at;
END $$;

-- Opens an access request, or finds the one of the same key. A key is looked at before the token, so that a repeated
-- submission is never taken for a replay. Request, key and token are spent in one transaction. Outcomes: created, or those of opened_before.
CREATE FUNCTION approvals.create_access_request(p jsonb)
RETURNS TABLE (outcome text, id text, expires_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE v_expires timestamptz := approvals.insert_access_request(p);
BEGIN
  IF v_expires IS NULL THEN RETURN QUERY SELECT * FROM approvals.opened_before(p); RETURN; END IF;
  RETURN QUERY SELECT 'created', p ->> 'id', v_expires;
END $$;

-- Carries out the deadlines of a request: past its own it expires, past that of its stage the next one opens or the request
-- is denied, as the stage says; it is never approved. A stage that opens has its whole time from this moment on. Calling it
-- again changes nothing. Answers the status afterwards; NULL when there is no such request.
CREATE FUNCTION approvals.expire_access_request(p_id text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_next int;
BEGIN
  SELECT * INTO r FROM approvals.access_request WHERE id = p_id FOR UPDATE;
  IF r.status IS DISTINCT FROM 'pending' THEN RETURN r.status; END IF;
  IF r.expires_at <= clock_timestamp() THEN
    PERFORM approvals.end_request(p_id, 'expired');
    RETURN 'expired';
  END IF;
  IF r.stage_ends_at <= clock_timestamp() THEN
    IF r.stages -> r.stage - 1 ->> 'then' = 'escalate' THEN v_next := approvals.stage_after(r.stages, r.stage, true); END IF;
    IF v_next IS NULL THEN
      PERFORM approvals.end_request(p_id, 'denied');
      RETURN 'denied';
    END IF;
    PERFORM approvals.open_stage(p_id, v_next, 'escalated');
  END IF;
  RETURN 'pending';
END $$;

-- Carries out every deadline that has passed, so that those who wait are told; bundle by bundle, as they have to be locked.
-- Answers how many requests had one.
CREATE FUNCTION approvals.expire_due(p_limit int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_id text; v_count int := 0;
BEGIN
  FOR v_id IN SELECT id FROM
      (SELECT id, bundle_id, least(expires_at, stage_ends_at) AS due FROM approvals.access_request
        WHERE status = 'pending' AND least(expires_at, stage_ends_at) <= now()
        ORDER BY least(expires_at, stage_ends_at) LIMIT p_limit FOR UPDATE SKIP LOCKED) AS overdue
      ORDER BY bundle_id NULLS FIRST, due LOOP
    PERFORM approvals.expire_access_request(v_id);
    v_count := v_count + 1;
  END LOOP;
  RETURN v_count;
END $$;

-- What has been voted in the stage that is open makes it end, or not. The caller has locked the row of the request.
-- `p_facts` is what only the directory knows: `lapsed`, the subjects whose approval no longer counts, and `electorate`, the
-- subjects that could decide, absent where nobody knows them all.
CREATE FUNCTION approvals.settle_stage(p_id text, p_facts jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_stage jsonb; v_approvals int; v_denials int; v_left int; v_next int;
BEGIN
  SELECT * INTO STRICT r FROM approvals.access_request WHERE id = p_id;
  v_stage := r.stages -> r.stage - 1;
  SELECT count(*) FILTER (WHERE verdict = 'approve' AND NOT coalesce(p_facts -> 'lapsed', '[]') ? approver_subject),
      count(*) FILTER (WHERE verdict = 'deny') INTO v_approvals, v_denials
    FROM approvals.vote WHERE access_request_id = p_id AND stage = r.stage;
  IF v_denials > 0 AND coalesce((v_stage ->> 'veto')::boolean, true) THEN
    PERFORM approvals.end_request(p_id, 'denied');
    RETURN;
  END IF;
  IF v_approvals >= (v_stage ->> 'quorum')::int THEN
    -- Whose approvals it rests on can be told later only if it is known whose it does not: people come back.
    INSERT INTO approvals.lapsed_approval (access_request_id, stage, approver_subject)
      SELECT p_id, r.stage, approver_subject FROM approvals.vote WHERE access_request_id = p_id AND stage = r.stage
        AND verdict = 'approve' AND coalesce(p_facts -> 'lapsed', '[]') ? approver_subject;
    v_next := approvals.stage_after(r.stages, r.stage, false);
    IF v_next IS NULL THEN
      PERFORM approvals.approve_request(p_id, p_facts ->> 'approval_id', r.approval_ms);
    ELSE
      PERFORM approvals.open_stage(p_id, v_next, 'opened');
    END IF;
    RETURN;
  END IF;
  IF v_denials = 0 OR p_facts -> 'electorate' IS NULL THEN RETURN; END IF;
  SELECT count(*) INTO v_left FROM jsonb_array_elements_text(p_facts -> 'electorate') AS e (subject)
    WHERE NOT EXISTS (SELECT FROM approvals.vote v WHERE v.access_request_id = p_id AND v.approver_subject = e.subject
      AND (r.separate_stages OR v.stage = r.stage));
  IF v_approvals + v_left < (v_stage ->> 'quorum')::int THEN PERFORM approvals.end_request(p_id, 'denied'); END IF;
END $$;

-- Counts one approver's verdict in the stage for which they were found eligible, and ends the stage when that settles it. Who
-- asked may not decide, nor may their delegates, nor may they stand behind the vote in any other way (`chain`: other names of the voter, the
-- client and the actors of their token), whatever the callers of this function checked. `stage` is the one that the
-- voter looked at; whoever names none means the one that is open, and has voted when they ever did, so that a retry is no vote
-- in the next stage. With a `delegation_id`, `cast_by` speaks for the approver: then neither may have spoken or been spoken for. Nor may
-- any of `actors`, who act for the voter by their token: otherwise a person with a token of another would have two voices.
-- Outcomes: counted, repeated (the same verdict again), already_voted, final, mismatch, stage_over, own_request,
-- delegate_of_requester, delegation_over, not_found.
CREATE FUNCTION approvals.cast_vote(p jsonb) RETURNS text LANGUAGE plpgsql AS $$
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

-- Counts the verdict in a signed message once. The same message again gets the answer it got the first time; another
-- message under the same id is a conflict. Both rows are one transaction, so a crash never loses a vote.
CREATE FUNCTION approvals.accept_decision(p_source text, p_webhook_id text, p_body_digest text, p_vote jsonb)
RETURNS text LANGUAGE plpgsql AS $$
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
  v_outcome := approvals.cast_vote(p_vote);
  UPDATE approvals.decision_webhook_inbox SET outcome = v_outcome WHERE source = p_source AND webhook_id = p_webhook_id;
  RETURN v_outcome;
END $$;

-- How an access request comes about, is voted on, and ends.

-- Queues the callback of a request that has just ended, if somebody asked for it.
CREATE FUNCTION approvals.announce_end(p_id text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- No list of events means all of them.
  INSERT INTO approvals.outbox (kind, subject_id) SELECT 'callback', id FROM approvals.access_request
    WHERE id = p_id AND callback_endpoint IS NOT NULL AND (callback_events IS NULL OR status = ANY (callback_events));
  IF FOUND THEN PERFORM pg_notify('approvals_outbox', ''); END IF;
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

-- Opens an access request, or finds the one of the same key. A key is looked at before the token, so that a repeated
-- submission is never taken for a replay. Request, key and token are spent in one transaction.
-- Outcomes: created, repeated, conflict (the key stands for another body), replayed (the denial was used before).
CREATE FUNCTION approvals.create_access_request(p jsonb)
RETURNS TABLE (outcome text, id text, expires_at timestamptz) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE v_found approvals.access_request; v_now timestamptz := clock_timestamp();
  v_expires timestamptz := v_now + (p ->> 'ttl_ms')::bigint * interval '1 ms';
BEGIN
  INSERT INTO approvals.access_request (id, client_id, submitted_by, idempotency_key, body_digest, evaluation_id, token_jti,
      subject, action, resource, context, claimed, keep_ms, tool, template, policies, reason, title, description, requester_issuer, requester_subject,
      requester_client, generation, call_digest, binding_hash, binding_context_members, quorum, requested_until,
      callback_endpoint, callback_state, callback_events, created_at, expires_at)
    SELECT r.id, r.client_id, r.submitted_by, r.idempotency_key, r.body_digest, r.evaluation_id, r.token_jti,
      r.subject, r.action, r.resource, r.context, r.claimed, r.keep_ms, r.tool, r.template, r.policies, r.reason, r.title, r.description, r.requester_issuer,
      r.requester_subject, r.requester_client, r.generation, r.call_digest, r.binding_hash, r.binding_context_members,
      r.quorum, r.requested_until, r.callback_endpoint, r.callback_state, r.callback_events, v_now, v_expires
    FROM jsonb_populate_record(NULL::approvals.access_request, p) r
    ON CONFLICT DO NOTHING;
  IF FOUND THEN RETURN QUERY SELECT 'created', p ->> 'id', v_expires; RETURN; END IF;
  SELECT * INTO v_found FROM approvals.access_request a
    WHERE a.client_id = p ->> 'client_id' AND a.idempotency_key = p ->> 'idempotency_key';
  IF NOT FOUND THEN RETURN QUERY SELECT 'replayed', NULL::text, NULL::timestamptz; RETURN; END IF;
  RETURN QUERY SELECT CASE WHEN v_found.body_digest = p ->> 'body_digest' THEN 'repeated' ELSE 'conflict' END,
    v_found.id, v_found.expires_at;
END $$;

-- Ends a request that nobody resolved in time. Answers the status afterwards; NULL when there is no such request.
CREATE FUNCTION approvals.expire_access_request(p_id text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request;
BEGIN
  SELECT * INTO r FROM approvals.access_request WHERE id = p_id FOR UPDATE;
  IF FOUND AND r.status = 'pending' AND r.expires_at <= clock_timestamp() THEN
    PERFORM approvals.end_request(p_id, 'expired');
    RETURN 'expired';
  END IF;
  RETURN r.status;
END $$;

-- Ends every request past its deadline, so that those who wait are told. Answers how many.
CREATE FUNCTION approvals.expire_due(p_limit int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_id text; v_count int := 0;
BEGIN
  FOR v_id IN SELECT id FROM approvals.access_request WHERE status = 'pending' AND expires_at <= now()
      ORDER BY expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED LOOP
    PERFORM approvals.end_request(v_id, 'expired');
    v_count := v_count + 1;
  END LOOP;
  RETURN v_count;
END $$;

-- Counts one approver's verdict and, when that settles it, ends the request. One denial settles it; approvals do when
-- there are as many as the request needs. Who asked may not decide, whatever the callers of this function checked.
-- Outcomes: counted, repeated (the same verdict again), already_voted, final, mismatch, own_request, not_found.
CREATE FUNCTION approvals.cast_vote(p jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_id text := p ->> 'request_id'; v_earlier text;
BEGIN
  SELECT * INTO r FROM approvals.access_request WHERE id = v_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  r.status := approvals.expire_access_request(v_id);
  IF r.requester_subject = p ->> 'approver_subject' OR r.requester_client = p ->> 'approver_subject' THEN
    RETURN 'own_request';
  END IF;
  -- Whoever names no generation means the only one this request has.
  IF r.generation <> coalesce((p ->> 'generation')::int, r.generation) OR r.call_digest IS DISTINCT FROM p ->> 'call_digest' THEN
    RETURN 'mismatch';
  END IF;
  SELECT verdict INTO v_earlier FROM approvals.vote WHERE access_request_id = v_id
    AND approver_issuer = p ->> 'approver_issuer' AND approver_subject = p ->> 'approver_subject';
  IF FOUND THEN RETURN CASE WHEN v_earlier = p ->> 'verdict' THEN 'repeated' ELSE 'already_voted' END; END IF;
  IF r.status <> 'pending' THEN RETURN 'final'; END IF;
  INSERT INTO approvals.vote (access_request_id, approver_issuer, approver_subject, verdict, reason, call_digest, via)
    VALUES (v_id, p ->> 'approver_issuer', p ->> 'approver_subject', p ->> 'verdict', p ->> 'reason',
      p ->> 'call_digest', p ->> 'via');
  IF p ->> 'verdict' = 'deny' THEN
    PERFORM approvals.end_request(v_id, 'denied');
  ELSIF (SELECT count(*) FROM approvals.vote WHERE access_request_id = v_id AND verdict = 'approve') >= r.quorum THEN
    PERFORM approvals.approve_request(v_id, p ->> 'approval_id', (p ->> 'approval_ms')::bigint);
  END IF;
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

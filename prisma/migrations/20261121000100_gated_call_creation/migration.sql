-- How a gated call comes about: opened before anything outside is told, then submitted, then given its handle.

-- Somebody waits for what a poke or a cancellation sets going, so the dispatcher is told of it. A start has time, since
-- nothing happens in a new workflow until its first look is due: the dispatcher finds it when it looks by itself.
CREATE FUNCTION gateway.enqueue(p_kind text, p_subject text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_urgency smallint := CASE p_kind WHEN 'start_workflow' THEN 1 ELSE 0 END;
BEGIN
  INSERT INTO gateway.outbox (kind, subject_id, urgency) VALUES (p_kind, p_subject, v_urgency);
  IF v_urgency = 0 THEN PERFORM pg_notify('gateway_outbox', ''); END IF;
END $$;

-- The record of an ended call. It holds digests of arguments and result, never the arguments or the result; who asked for
-- what, which access requests there were and who resolved them is in it sealed.
CREATE FUNCTION gateway.write_outcome_record(p_call uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_ref text := 'out_' || replace(gen_random_uuid()::text, '-', '');
  v_at timestamptz := clock_timestamp();
  c gateway.gated_call; b gateway.call_binding; v_body text;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call;
  SELECT * INTO STRICT b FROM gateway.call_binding WHERE gated_call_id = p_call;
  v_body := jsonb_build_object(
    'outcomeRef', v_ref, 'taskId', c.task_id, 'state', c.state, 'reason', c.reason, 'recordedAt', v_at,
    'tool', b.tool, 'callDigest', b.call_digest, 'toolDigest', b.tool_digest,
    'sealedRequester', b.sealed_requester, 'createdAt', c.created_at, 'generation', c.generation,
    'requestDeadline', c.request_deadline, 'approvalExpiresAt', c.approval_expires_at,
    'decisions', (SELECT coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'generation', d.generation, 'kind', d.kind,
        'reason', d.reason, 'evaluationId', d.evaluation_id, 'policyVersion', d.policy_version, 'policies', d.policies,
        'obligations', d.obligations, 'evaluatedAt', d.evaluated_at)
        ORDER BY d.evaluated_at), '[]') FROM gateway.decision d WHERE d.gated_call_id = p_call),
    'accessRequests', (SELECT coalesce(jsonb_agg(jsonb_build_object('generation', s.generation,
        'sealedHandle', s.sealed_handle, 'sealedStatement', s.sealed_statement, 'sealedApproval', a.sealed_reference,
        'approvedAt', a.approved_at)
        ORDER BY s.generation), '[]') FROM gateway.submission s
        LEFT JOIN gateway.approval a USING (gated_call_id, generation) WHERE s.gated_call_id = p_call),
    'claim', (SELECT jsonb_build_object('claimedAt', e.claimed_at, 'decisionId', e.decision_id, 'generation', e.generation)
        FROM gateway.execution_claim e WHERE e.gated_call_id = p_call),
    'invocation', (SELECT jsonb_build_object('beganAt', i.began_at, 'notSentAt', i.not_sent_at)
        FROM gateway.invocation i WHERE i.gated_call_id = p_call),
    'result', (SELECT jsonb_build_object('isError', r.is_error, 'digest', r.result_digest)
        FROM gateway.call_result r WHERE r.gated_call_id = p_call),
    'transitions', (SELECT jsonb_agg(jsonb_build_object('seq', e.seq, 'to', e.to_state, 'cause', e.cause, 'at', e.at)
        ORDER BY e.seq) FROM gateway.call_event e WHERE e.gated_call_id = p_call))::text;
  INSERT INTO gateway.outcome_record
    VALUES (v_ref, p_call, c.task_id, b.call_digest, b.tool, c.state, b.requester_key, v_body,
            'sha-256:' || encode(sha256(convert_to(v_body, 'UTF8')), 'hex'), v_at);
END $$;

-- Changes the state of a call whose row the caller has locked, with its event and, at an end, its outcome record. Whoever
-- subscribed to the task hears of it on commit. Nobody has before its handle is given out, so the way there is silent: commits
-- with a notice wait for each other, and calls are opened many at once.
CREATE FUNCTION gateway.move(p_call uuid, p_to text, p_cause text, p_reason text, p_retention_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_version integer; v_task text; v_end boolean := p_to IN
  ('executed','execution_error','outcome_unknown','denied','cancelled','failed');
BEGIN
  UPDATE gateway.gated_call SET state = p_to, reason = coalesce(p_reason, reason), state_version = state_version + 1,
    last_updated_at = clock_timestamp(), ended_at = CASE WHEN v_end THEN clock_timestamp() END,
    retain_until = CASE WHEN v_end THEN clock_timestamp() + p_retention_ms * interval '1 ms' ELSE retain_until END
    WHERE id = p_call RETURNING state_version, task_id INTO STRICT v_version, v_task;
  INSERT INTO gateway.call_event (gated_call_id, seq, to_state, cause) VALUES (p_call, v_version, p_to, p_cause);
  IF v_end THEN PERFORM gateway.write_outcome_record(p_call); END IF;
  IF p_cause <> 'submitted' THEN PERFORM pg_notify('gateway_task', v_task); END IF;
END $$;

-- The newest identical call that was claimed and has ended within `unread_ms`, if its owner was not told how. Identical means the same
-- owner, tool and arguments, as for an open call. A caller that gave up waiting and repeats its call is told then, and the tool does
-- not run once more. From then on an identical call is a call of its own. One that has been on its way for `waited_ms` already is told
-- as well, and so is the repetition of a lost answer.
CREATE FUNCTION gateway.take_unread(p jsonb) RETURNS TABLE (gated_call_id uuid, task_id text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE c gateway.gated_call; v_id uuid := (p ->> 'id')::uuid;
  v_came timestamptz := clock_timestamp() - (p ->> 'waited_ms')::double precision * interval '1 ms';
  v_since timestamptz := clock_timestamp() - (p ->> 'unread_ms')::bigint * interval '1 ms';
BEGIN
  IF coalesce((p ->> 'unread_ms')::bigint, 0) = 0 THEN RETURN; END IF;
  SELECT * INTO c FROM gateway.gated_call g
    WHERE g.owner_key = p ->> 'owner_key' AND g.dedup_key = p ->> 'dedup_key' AND g.claim_id IS NOT NULL
      AND g.ended_at > v_since
    ORDER BY g.ended_at DESC LIMIT 1 FOR UPDATE;
  IF NOT FOUND OR c.forgotten_at IS NOT NULL THEN RETURN; END IF;
  IF c.read_at < v_came AND c.read_by IS DISTINCT FROM v_id THEN RETURN; END IF;
  UPDATE gateway.gated_call g SET read_at = coalesce(c.read_at, clock_timestamp()), read_by = coalesce(c.read_by, v_id)
    WHERE g.id = c.id;
  RETURN QUERY SELECT c.id, c.task_id;
END $$;

-- Its owner was told how the call has ended.
CREATE FUNCTION gateway.note_read(p_call uuid) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.gated_call SET read_at = clock_timestamp()
    WHERE id = p_call AND claim_id IS NOT NULL AND ended_at IS NOT NULL AND read_at IS NULL;
$$;

-- Opens a gated call with its binding, its first decision and its submission intent, or joins the open one that the
-- same caller has for the same tool and arguments. Nothing outside has been told yet. Whoever opens a call has the right
-- to submit it for `lease_ms`.
CREATE FUNCTION gateway.open_gated_call(p jsonb)
RETURNS TABLE (outcome text, gated_call_id uuid, task_id text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE v_id uuid := (p ->> 'id')::uuid; v_owner text := p ->> 'owner_key'; v_dedup text := p ->> 'dedup_key';
  v_subject text := p ->> 'subject_key'; v_of_subject int; v_of_owner int;
  v_found gateway.gated_call; v_now timestamptz; v_deadline timestamptz;
BEGIN
  SELECT count(*), count(*) FILTER (WHERE g.owner_key = v_owner) INTO v_of_subject, v_of_owner
    FROM gateway.gated_call g WHERE g.subject_key = v_subject AND g.ended_at IS NULL;
  IF (v_of_owner >= (p ->> 'max_open')::int OR v_of_subject >= (p ->> 'max_open_of_subject')::int)
     AND NOT EXISTS (SELECT 1 FROM gateway.gated_call g
       WHERE g.subject_key = v_subject AND g.owner_key = v_owner AND g.dedup_key = v_dedup AND g.ended_at IS NULL) THEN
    RETURN QUERY SELECT 'unread', u.gated_call_id, u.task_id FROM gateway.take_unread(p) u;
    IF FOUND THEN RETURN; END IF;
    RETURN QUERY SELECT 'too_many', NULL::uuid, NULL::text; RETURN;
  END IF;
  v_now := clock_timestamp();
  v_deadline := v_now + (p ->> 'request_ttl_ms')::bigint * interval '1 ms';
  INSERT INTO gateway.gated_call (id, task_id, subject_key, owner_key, dedup_key, state, trace_id, takes_input, request_deadline, latest_deadline,
      look_at, retain_until, created_at, last_updated_at)
    VALUES (v_id, p ->> 'task_id', v_subject, v_owner, v_dedup, 'preparing', p ->> 'trace_id', (p ->> 'takes_input')::boolean,
      v_deadline, v_deadline, v_now + (p ->> 'first_look_ms')::bigint * interval '1 ms',
      v_now + ((p ->> 'request_ttl_ms')::bigint + (p ->> 'retention_ms')::bigint) * interval '1 ms', v_now, v_now)
    ON CONFLICT (subject_key, owner_key, dedup_key) WHERE ended_at IS NULL DO NOTHING;
  IF NOT FOUND THEN
    SELECT * INTO v_found FROM gateway.gated_call g
      WHERE g.subject_key = v_subject AND g.owner_key = v_owner AND g.dedup_key = v_dedup AND g.ended_at IS NULL;
    IF FOUND THEN RETURN QUERY SELECT 'joined', v_found.id, v_found.task_id; RETURN; END IF;
    -- The other one ended between the two statements: the caller asks again, from the decision on.
    RETURN QUERY SELECT 'gone', NULL::uuid, NULL::text; RETURN;
  END IF;
  -- Only now no identical one is open, and one that has just ended is seen.
  RETURN QUERY SELECT 'unread', u.gated_call_id, u.task_id FROM gateway.take_unread(p) u;
  IF FOUND THEN
    DELETE FROM gateway.gated_call WHERE id = v_id;
    RETURN;
  END IF;
  INSERT INTO gateway.data_key VALUES (v_id, p ->> 'key_id', p ->> 'call_key', p ->> 'record_key');
  INSERT INTO gateway.call_binding VALUES (v_id, p ->> 'tool', p ->> 'upstream', p ->> 'upstream_tool',
    p ->> 'call_digest', p ->> 'tool_digest', p ->> 'requester_key', p ->> 'sealed_content', p ->> 'sealed_requester');
  INSERT INTO gateway.decision (id, gated_call_id, generation, kind, reason, evaluation_id, call_digest, obligations, policy_version, policies)
    VALUES ((p ->> 'decision_id')::uuid, v_id, 1, 'requestable', p ->> 'decision_reason', p ->> 'evaluation_id',
      p ->> 'call_digest', p -> 'obligations', p ->> 'policy_version',
      CASE WHEN p ? 'policies' THEN ARRAY(SELECT jsonb_array_elements_text(p -> 'policies')) END);
  INSERT INTO gateway.submission (id, gated_call_id, generation, idempotency_key, endpoint, sealed_body, lease_until)
    VALUES ((p ->> 'submission_id')::uuid, v_id, 1, p ->> 'idempotency_key', p ->> 'submission_endpoint',
      p ->> 'sealed_body', v_now + (p ->> 'lease_ms')::bigint * interval '1 ms');
  INSERT INTO gateway.call_event (gated_call_id, seq, to_state, cause) VALUES (v_id, 1, 'preparing', 'requestable_denial');
  RETURN QUERY SELECT 'opened', v_id, p ->> 'task_id';
END $$;

-- The right to contact the access request service for a call that has no handle yet. One taker wins; nobody wins while
-- the lease of another runs, and a lease that ran out (its holder died) is taken over with the same key and body.
CREATE FUNCTION gateway.take_submission(p_call uuid, p_lease_ms bigint)
RETURNS TABLE (generation int, endpoint text, idempotency_key text, sealed_body text, call_key text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE c gateway.gated_call; s gateway.submission;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call;
  IF c.ended_at IS NOT NULL THEN RETURN; END IF;
  SELECT * INTO STRICT s FROM gateway.submission WHERE gated_call_id = p_call AND generation = c.generation FOR UPDATE;
  IF s.access_request_key IS NOT NULL OR s.lease_until > clock_timestamp() THEN RETURN; END IF;
  -- It may have been given up while this waited for the row.
  PERFORM 1 FROM gateway.gated_call WHERE id = p_call AND ended_at IS NULL;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE gateway.submission SET lease_until = clock_timestamp() + p_lease_ms * interval '1 ms' WHERE id = s.id;
  RETURN QUERY SELECT s.generation, s.endpoint, s.idempotency_key, s.sealed_body, k.call_key
    FROM gateway.data_key k WHERE k.gated_call_id = p_call;
END $$;

-- Gives that right back, so that the next one need not wait for the lease to run out.
CREATE FUNCTION gateway.release_submission(p_call uuid) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.submission SET lease_until = clock_timestamp()
    WHERE gated_call_id = p_call AND lease_until > clock_timestamp();
$$;

-- Records the handle the access request service gave. The task exists from here on. Repeating it changes nothing.
-- Answers the task, too, when the handle was attached.
CREATE FUNCTION gateway.attach_handle(p_call uuid, p_generation int, p_request_key text, p_sealed_handle text,
  p_expires_at timestamptz, p_settled boolean) RETURNS TABLE (outcome text, task gateway.task) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE c gateway.gated_call; v_known text;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  SELECT access_request_key INTO STRICT v_known FROM gateway.submission
    WHERE gated_call_id = p_call AND generation = p_generation;
  IF v_known IS NOT NULL AND v_known <> p_request_key THEN
    RETURN QUERY SELECT 'conflict', NULL::gateway.task; RETURN;
  END IF;
  IF v_known IS NULL THEN
    UPDATE gateway.submission SET access_request_key = p_request_key, sealed_handle = p_sealed_handle
      WHERE gated_call_id = p_call AND generation = p_generation;
  END IF;
  IF c.ended_at IS NOT NULL THEN
    IF v_known IS NULL AND c.state IN ('cancelled','denied','failed') THEN
      PERFORM gateway.enqueue('cancel_access_request', p_call::text);
    END IF;
    RETURN QUERY SELECT 'ended', NULL::gateway.task; RETURN;
  END IF;
  IF c.generation = p_generation AND c.state IN ('preparing','pending') AND p_expires_at < c.request_deadline THEN
    UPDATE gateway.gated_call SET request_deadline = p_expires_at WHERE id = p_call;
  END IF;
  IF c.state = 'preparing' THEN
    PERFORM gateway.move(p_call, 'pending', 'submitted', NULL, 0);
    PERFORM gateway.enqueue('start_workflow', p_call::text);
  END IF;
  -- Nothing will be told of a request that has ended already.
  IF p_settled AND c.generation = p_generation THEN PERFORM gateway.enqueue('poke_workflow', p_call::text); END IF;
  RETURN QUERY SELECT 'attached', t FROM gateway.task t WHERE t.id = p_call;
END $$;

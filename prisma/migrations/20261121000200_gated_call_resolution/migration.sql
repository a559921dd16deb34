-- How a gated call is granted, or ends before it is claimed.

-- Ends a call that is not claimed: denied, cancelled or failed. The claim competes for the same row, so exactly one wins.
-- Answers the state the call is in afterwards.
CREATE FUNCTION gateway.end_unclaimed(p_call uuid, p_to text, p_reason text, p_cause text, p_retention_ms bigint)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_state text;
BEGIN
  SELECT state INTO STRICT v_state FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF v_state NOT IN ('preparing','pending','input_required','granted') THEN RETURN v_state; END IF;
  -- After a restore it may have run already, and a record that it did not would be no record.
  IF p_cause <> 'restore' AND gateway.fence_state() <> 'whole' THEN RETURN v_state; END IF;
  -- A creation is given up while nobody is at it. Since it was looked for, its handle may have come and its task been handed
  -- out, or somebody may have taken it over.
  IF p_reason = 'abandoned' THEN
    PERFORM 1 FROM gateway.submission WHERE gated_call_id = p_call FOR UPDATE;
    IF v_state <> 'preparing' OR EXISTS (SELECT 1 FROM gateway.submission
        WHERE gated_call_id = p_call AND lease_until > clock_timestamp()) THEN RETURN v_state; END IF;
  END IF;
  PERFORM gateway.move(p_call, p_to, p_cause, p_reason, p_retention_ms);
  -- A decision can end the call from behind: it was asked for in one generation, and the request of the next is open.
  IF p_reason IN ('client_cancelled','abandoned','request_expired','restored')
     OR (p_cause = 're-evaluation' AND v_state NOT IN ('granted','input_required')) THEN
    PERFORM gateway.enqueue('cancel_access_request', p_call::text);
  END IF;
  PERFORM gateway.enqueue('poke_workflow', p_call::text);
  RETURN p_to;
END $$;

-- Ends a call whose deadline has passed, and does nothing to any other. Claimed calls become `outcome_unknown` when the
-- permit to send was given, and `execution_error` ("not sent") when it was not: the lock stops any later permit. Where a failover may
-- have lost the permit they become `outcome_unknown` as well.
CREATE FUNCTION gateway.expire_gated_call(p_call uuid, p_retention_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call; v_now timestamptz; i gateway.invocation;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  v_now := clock_timestamp();
  IF c.state IN ('preparing','pending') AND c.request_deadline <= v_now THEN
    RETURN gateway.end_unclaimed(p_call, 'denied', 'request_expired', 'deadline', p_retention_ms);
  ELSIF c.state IN ('granted','input_required') AND least(c.request_deadline, c.approval_expires_at) <= v_now THEN
    RETURN gateway.end_unclaimed(p_call, 'denied',
      CASE WHEN c.approval_expires_at <= v_now THEN 'approval_expired' ELSE 'request_expired' END, 'deadline', p_retention_ms);
  ELSIF c.state = 'claimed' AND c.execution_deadline <= v_now THEN
    SELECT * INTO i FROM gateway.invocation WHERE gated_call_id = p_call;
    IF FOUND AND i.not_sent_at IS NULL THEN
      PERFORM gateway.move(p_call, 'outcome_unknown', 'execution_deadline', 'no_result', p_retention_ms);
      RETURN 'outcome_unknown';
    END IF;
    -- After a restore the permit may be among what was lost.
    IF gateway.fence_state() <> 'whole' THEN RETURN c.state; END IF;
    IF i.not_sent_at IS NULL AND gateway.is_of_earlier_timeline(p_call) THEN
      PERFORM gateway.move(p_call, 'outcome_unknown', 'execution_deadline', 'restored', p_retention_ms);
      RETURN 'outcome_unknown';
    END IF;
    PERFORM gateway.move(p_call, 'execution_error', 'execution_deadline', 'not_sent', p_retention_ms);
    RETURN 'execution_error';
  END IF;
  RETURN c.state;
END $$;

-- Records an authenticated grant for the current generation. A superseded generation, and a call that went on, are left as they
-- are; an approval that is over, or that another call or generation has had, denies the call. Answers the state the call is in afterwards.
CREATE FUNCTION gateway.grant_approval(p_call uuid, p_generation int, p_approval_key text, p_approved_at timestamptz,
  p_approved_until timestamptz, p_sealed_body text, p_sealed_reference text, p_retention_ms bigint, p_use_ms bigint)
  RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF c.state <> 'pending' OR c.generation <> p_generation THEN RETURN c.state; END IF;
  IF c.request_deadline <= clock_timestamp() THEN RETURN gateway.expire_gated_call(p_call, p_retention_ms); END IF;
  IF p_approved_until <= clock_timestamp() THEN
    RETURN gateway.end_unclaimed(p_call, 'denied', 'approval_expired', 'grant', p_retention_ms);
  END IF;
  INSERT INTO gateway.approval
    VALUES (p_call, p_generation, p_approval_key, p_approved_at, p_approved_until, p_sealed_body, p_sealed_reference)
    ON CONFLICT (approval_key) DO NOTHING;
  IF NOT FOUND THEN
    RETURN gateway.end_unclaimed(p_call, 'denied', 'approval_used', 'grant', p_retention_ms);
  END IF;
  -- A service may approve for years; what is granted now is not to wait for its execution that long.
  UPDATE gateway.gated_call SET approval_expires_at =
    least(p_approved_until, clock_timestamp() + p_use_ms * interval '1 ms') WHERE id = p_call;
  PERFORM gateway.move(p_call, 'granted', 'grant', NULL, 0);
  RETURN 'granted';
END $$;

-- Keeps what the access request service states about a request, sealed. The first statement stays. The record that is written when the
-- call ends takes it in; it moves nothing.
CREATE FUNCTION gateway.keep_statement(p_call uuid, p_generation int, p_sealed text) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.submission SET sealed_statement = p_sealed
    WHERE gated_call_id = p_call AND generation = p_generation AND sealed_statement IS NULL;
$$;

-- Gives a generation up whose approval the policy found not enough, and records the submission of the next, in one commit
-- and before the access request service is told: a superseded approval can no longer be used, whatever happens next. A look
-- is due at once: should whoever did this die before it submits, a look does.
-- Answers the state the call is in afterwards; `pending` when the next generation is to be submitted.
CREATE FUNCTION gateway.request_again(p_call uuid, p_generation int, p jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call; v_retention bigint := (p ->> 'retention_ms')::bigint;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF c.state <> 'granted' OR c.generation <> p_generation THEN RETURN c.state; END IF;
  IF least(c.request_deadline, c.approval_expires_at) <= clock_timestamp() THEN
    RETURN gateway.expire_gated_call(p_call, v_retention);
  END IF;
  IF p_generation >= (p ->> 'max_generations')::int THEN
    RETURN gateway.end_unclaimed(p_call, 'denied', 'chain_limit', 're-evaluation', v_retention);
  END IF;
  INSERT INTO gateway.submission (id, gated_call_id, generation, idempotency_key, endpoint, sealed_body)
    VALUES ((p ->> 'submission_id')::uuid, p_call, p_generation + 1, p ->> 'idempotency_key',
      p ->> 'submission_endpoint', p ->> 'sealed_body');
  UPDATE gateway.gated_call SET generation = p_generation + 1, approval_expires_at = NULL,
    request_deadline = latest_deadline, look_at = clock_timestamp() WHERE id = p_call;
  PERFORM gateway.move(p_call, 'pending', 'requested_again', NULL, 0);
  RETURN 'pending';
END $$;

-- Takes calls whose look is due, and sets the next one: after as long as the call has waited already, within the limits and
-- up to a fifth earlier, so that many do not come together. Whoever takes them looks; several may take at once, each others.
-- It reads along the index, however few calls there are by the statistics and however many are due.
CREATE FUNCTION gateway.take_looks(p_limit int, p_min_ms bigint, p_max_ms bigint) RETURNS SETOF uuid LANGUAGE sql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
  UPDATE gateway.gated_call SET look_at = clock_timestamp() + (1 - random() / 5) * greatest(p_min_ms * interval '1 ms',
      least(p_max_ms * interval '1 ms', clock_timestamp() - last_updated_at))
    WHERE id = ANY (ARRAY(SELECT id FROM gateway.gated_call WHERE state = 'pending' AND look_at <= now()
      ORDER BY look_at LIMIT p_limit FOR UPDATE SKIP LOCKED))
    RETURNING id;
$$;

-- No look before so long has passed: the access request service asked for it.
CREATE FUNCTION gateway.put_look_off(p_call uuid, p_ms bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.gated_call SET look_at = greatest(look_at, clock_timestamp() + p_ms * interval '1 ms') WHERE id = p_call;
$$;

-- Wakes the workflow of a call. Like a callback it is a hint, and moves nothing by itself. The outbox keeps it until it is
-- delivered, so there is no look for a minute: where thousands wait for their turn, each would add another poke.
CREATE FUNCTION gateway.wake(p_call uuid) RETURNS void LANGUAGE sql AS $$
  SELECT gateway.put_look_off(p_call, 60000);
  SELECT gateway.enqueue('poke_workflow', p_call::text);
$$;

-- Accepts a signed callback once and wakes the workflow of the call it speaks of. A callback is a hint to look, nothing more.
CREATE FUNCTION gateway.accept_callback(p_webhook_id text, p_body_digest text, p_request_key text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE s gateway.submission; c gateway.gated_call;
BEGIN
  INSERT INTO gateway.callback_inbox (webhook_id, body_digest) VALUES (p_webhook_id, p_body_digest) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN CASE WHEN EXISTS (SELECT 1 FROM gateway.callback_inbox WHERE webhook_id = p_webhook_id
      AND body_digest = p_body_digest) THEN 'repeated' ELSE 'conflict' END;
  END IF;
  SELECT * INTO s FROM gateway.submission WHERE access_request_key = p_request_key;
  SELECT * INTO c FROM gateway.gated_call WHERE id = s.gated_call_id;
  IF FOUND AND c.generation = s.generation AND c.ended_at IS NULL THEN
    PERFORM gateway.enqueue('poke_workflow', c.id::text);
  END IF;
  RETURN 'accepted';
END $$;

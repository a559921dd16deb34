-- Every statement reads as many rows as it needs, however many calls are open and whatever the statistics say.
-- The planner may use a partial index for each statement whose conditions imply that of the index. Statistics taken in a
-- quiet minute say that such an index is empty, so reading all of it looks as cheap as one lookup by key. Hence each
-- partial index has a condition that only the statements it is for can meet, functions look rows up by key and check the
-- rest afterwards, and times are compared with now() (fixed for a statement) where an index is to be used.

-- The deadline of the present state; none once the call has ended.
ALTER TABLE gateway.gated_call ADD COLUMN due_at timestamptz GENERATED ALWAYS AS (
  CASE WHEN ended_at IS NOT NULL THEN NULL
    WHEN state = 'claimed' THEN execution_deadline
    WHEN state = 'granted' THEN least(request_deadline, approval_expires_at)
    ELSE request_deadline END) STORED;

DROP INDEX gateway.gated_call_dedup;
DROP INDEX gateway.gated_call_open_by_owner;
DROP INDEX gateway.gated_call_open_by_deadline;
-- One open gated call per caller, tool and arguments: an identical call joins it.
CREATE UNIQUE INDEX gated_call_open ON gateway.gated_call (owner_key, dedup_key) WHERE ended_at IS NULL;
CREATE INDEX gated_call_due ON gateway.gated_call (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX gated_call_preparing ON gateway.gated_call (created_at) WHERE state = 'preparing';

DROP INDEX gateway.submission_by_access_request;
CREATE INDEX submission_by_access_request ON gateway.submission (access_request_id) WHERE access_request_id IS NOT NULL;

-- A row that has been handled is deleted: what is left is what is to be done.
DELETE FROM gateway.outbox WHERE done_at IS NOT NULL;
ALTER TABLE gateway.outbox DROP COLUMN done_at;
CREATE INDEX outbox_due ON gateway.outbox (urgency, available_at, id);
DELETE FROM approvals.outbox WHERE done_at IS NOT NULL;
ALTER TABLE approvals.outbox DROP COLUMN done_at;
CREATE INDEX outbox_due ON approvals.outbox (urgency, available_at, id);

-- A gated call as its owner may see it.
CREATE VIEW gateway.task AS
  SELECT g.id, g.task_id, g.owner_key, g.state, g.reason, b.tool, g.created_at, g.last_updated_at, g.retain_until, g.ended_at,
    r.result, o.outcome_ref, coalesce(g.due_at <= clock_timestamp(), false) AS due
  FROM gateway.gated_call g
  JOIN gateway.call_binding b ON b.gated_call_id = g.id
  LEFT JOIN gateway.call_result r ON r.gated_call_id = g.id
  LEFT JOIN gateway.outcome_record o ON o.gated_call_id = g.id;

-- Somebody waits for what a poke or a cancellation sets going, so the dispatcher is told of it. A start has time, since
-- nothing happens in a new workflow until its first look is due: the dispatcher finds it when it looks by itself.
CREATE OR REPLACE FUNCTION gateway.enqueue(p_kind text, p_subject text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_urgency smallint := CASE p_kind WHEN 'start_workflow' THEN 1 ELSE 0 END;
BEGIN
  INSERT INTO gateway.outbox (kind, subject_id, urgency) VALUES (p_kind, p_subject, v_urgency);
  IF v_urgency = 0 THEN PERFORM pg_notify('gateway_outbox', ''); END IF;
END $$;

-- Opens a gated call with its binding, its first decision and its submission intent, or joins the open one that the
-- same caller has for the same tool and arguments. Nothing outside has been told yet. Whoever opens a call has the right
-- to submit it for `lease_ms`.
CREATE OR REPLACE FUNCTION gateway.open_gated_call(p jsonb)
RETURNS TABLE (outcome text, gated_call_id uuid, task_id text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE v_id uuid := (p ->> 'id')::uuid; v_owner text := p ->> 'owner_key'; v_dedup text := p ->> 'dedup_key';
  v_found gateway.gated_call; v_now timestamptz;
BEGIN
  IF (SELECT count(*) FROM gateway.gated_call g WHERE g.owner_key = v_owner AND g.ended_at IS NULL)
     >= (p ->> 'max_open')::int
     AND NOT EXISTS (SELECT 1 FROM gateway.gated_call g
       WHERE g.owner_key = v_owner AND g.dedup_key = v_dedup AND g.ended_at IS NULL) THEN
    RETURN QUERY SELECT 'too_many', NULL::uuid, NULL::text; RETURN;
  END IF;
  v_now := clock_timestamp();
  INSERT INTO gateway.gated_call (id, task_id, owner_key, dedup_key, state, request_deadline, retain_until, created_at,
      last_updated_at)
    VALUES (v_id, p ->> 'task_id', v_owner, v_dedup, 'preparing',
      v_now + (p ->> 'request_ttl_ms')::bigint * interval '1 ms',
      v_now + ((p ->> 'request_ttl_ms')::bigint + (p ->> 'retention_ms')::bigint) * interval '1 ms', v_now, v_now)
    ON CONFLICT (owner_key, dedup_key) WHERE ended_at IS NULL DO NOTHING;
  IF NOT FOUND THEN
    SELECT * INTO v_found FROM gateway.gated_call g
      WHERE g.owner_key = v_owner AND g.dedup_key = v_dedup AND g.ended_at IS NULL;
    IF FOUND THEN RETURN QUERY SELECT 'joined', v_found.id, v_found.task_id; RETURN; END IF;
    -- The other one ended between the two statements: the caller asks again, from the decision on.
    RETURN QUERY SELECT 'gone', NULL::uuid, NULL::text; RETURN;
  END IF;
  INSERT INTO gateway.call_binding VALUES (v_id, p ->> 'tool', p ->> 'upstream', p ->> 'upstream_tool',
    p ->> 'arguments', p ->> 'call_digest', p ->> 'tool_digest', p -> 'caller', p ->> 'evaluation');
  INSERT INTO gateway.decision (id, gated_call_id, generation, kind, reason, evaluation_id, call_digest)
    VALUES ((p ->> 'decision_id')::uuid, v_id, 1, 'requestable', p ->> 'decision_reason', p ->> 'evaluation_id',
      p ->> 'call_digest');
  INSERT INTO gateway.submission (id, gated_call_id, generation, idempotency_key, endpoint, body, lease_until)
    VALUES ((p ->> 'submission_id')::uuid, v_id, 1, p ->> 'idempotency_key', p ->> 'submission_endpoint',
      p ->> 'submission_body', v_now + (p ->> 'lease_ms')::bigint * interval '1 ms');
  INSERT INTO gateway.call_event (gated_call_id, seq, to_state, cause) VALUES (v_id, 1, 'preparing', 'requestable_denial');
  RETURN QUERY SELECT 'opened', v_id, p ->> 'task_id';
END $$;

-- The right to contact the access request service for a call that has no handle yet. One taker wins; nobody wins while
-- the lease of another runs, and a lease that ran out (its holder died) is taken over with the same key and body.
CREATE OR REPLACE FUNCTION gateway.take_submission(p_call uuid, p_lease_ms bigint)
RETURNS TABLE (generation int, endpoint text, idempotency_key text, body text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE c gateway.gated_call; s gateway.submission;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call;
  IF c.ended_at IS NOT NULL THEN RETURN; END IF;
  SELECT * INTO STRICT s FROM gateway.submission WHERE gated_call_id = p_call AND generation = c.generation FOR UPDATE;
  IF s.access_request_id IS NOT NULL OR s.lease_until > clock_timestamp() THEN RETURN; END IF;
  UPDATE gateway.submission SET lease_until = clock_timestamp() + p_lease_ms * interval '1 ms' WHERE id = s.id;
  RETURN QUERY SELECT s.generation, s.endpoint, s.idempotency_key, s.body;
END $$;

-- Records the handle the access request service gave. The task exists from here on. Repeating it changes nothing.
-- Answers the task, too, when the handle was attached.
DROP FUNCTION gateway.attach_handle(uuid, int, text, text, text, timestamptz);
CREATE FUNCTION gateway.attach_handle(p_call uuid, p_generation int, p_request_id text, p_status_endpoint text,
  p_cancel_endpoint text, p_expires_at timestamptz) RETURNS TABLE (outcome text, task gateway.task) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE c gateway.gated_call; v_known text;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  SELECT access_request_id INTO STRICT v_known FROM gateway.submission
    WHERE gated_call_id = p_call AND generation = p_generation;
  IF v_known IS NOT NULL AND v_known <> p_request_id THEN
    RETURN QUERY SELECT 'conflict', NULL::gateway.task; RETURN;
  END IF;
  IF v_known IS NULL THEN
    UPDATE gateway.submission SET access_request_id = p_request_id, status_endpoint = p_status_endpoint,
      cancel_endpoint = p_cancel_endpoint WHERE gated_call_id = p_call AND generation = p_generation;
  END IF;
  IF c.ended_at IS NOT NULL THEN
    IF v_known IS NULL AND c.state IN ('cancelled','denied') THEN
      PERFORM gateway.enqueue('cancel_access_request', p_call::text);
    END IF;
    RETURN QUERY SELECT 'ended', NULL::gateway.task; RETURN;
  END IF;
  IF c.state = 'preparing' THEN
    IF p_expires_at < c.request_deadline THEN
      UPDATE gateway.gated_call SET request_deadline = p_expires_at WHERE id = p_call;
    END IF;
    PERFORM gateway.move(p_call, 'pending', 'submitted', NULL, 0);
    PERFORM gateway.enqueue('start_workflow', p_call::text);
  END IF;
  RETURN QUERY SELECT 'attached', t FROM gateway.task t WHERE t.id = p_call;
END $$;

-- Accepts a signed callback once and wakes the workflow of the call it speaks of. A callback is a hint to look, nothing more.
CREATE OR REPLACE FUNCTION gateway.accept_callback(p_webhook_id text, p_body_digest text, p_request_id text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_call uuid; v_ended_at timestamptz;
BEGIN
  INSERT INTO gateway.callback_inbox (webhook_id, body_digest) VALUES (p_webhook_id, p_body_digest) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN CASE WHEN EXISTS (SELECT 1 FROM gateway.callback_inbox WHERE webhook_id = p_webhook_id
      AND body_digest = p_body_digest) THEN 'repeated' ELSE 'conflict' END;
  END IF;
  SELECT g.id, g.ended_at INTO v_call, v_ended_at FROM gateway.submission s JOIN gateway.gated_call g
    ON g.id = s.gated_call_id AND g.generation = s.generation WHERE s.access_request_id = p_request_id;
  IF FOUND AND v_ended_at IS NULL THEN PERFORM gateway.enqueue('poke_workflow', v_call::text); END IF;
  RETURN 'accepted';
END $$;

-- Opens an access request, or finds the one of the same key. A key is looked at before the token, so that a repeated
-- submission is never taken for a replay. Request, key and token are spent in one transaction.
-- Outcomes: created, repeated, conflict (the key stands for another body), replayed (the denial was used before).
DROP FUNCTION approvals.create_access_request(jsonb);
CREATE FUNCTION approvals.create_access_request(p jsonb)
RETURNS TABLE (outcome text, id text, expires_at timestamptz) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE v_found approvals.access_request; v_now timestamptz := clock_timestamp();
  v_expires timestamptz := v_now + (p ->> 'ttl_ms')::bigint * interval '1 ms';
BEGIN
  INSERT INTO approvals.access_request (id, client_id, idempotency_key, body_digest, evaluation_id, token_jti, subject,
      action, resource, context, tool, template, policies, reason, title, description, requester_issuer, requester_subject,
      requester_client, generation, call_digest, binding_hash, binding_context_members, quorum, requested_until,
      callback_endpoint, callback_state, callback_events, created_at, expires_at)
    SELECT r.id, r.client_id, r.idempotency_key, r.body_digest, r.evaluation_id, r.token_jti, r.subject,
      r.action, r.resource, r.context, r.tool, r.template, r.policies, r.reason, r.title, r.description, r.requester_issuer,
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

-- Ends every request past its deadline, so that those who wait are told. Answers how many.
CREATE OR REPLACE FUNCTION approvals.expire_due(p_limit int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_id text; v_count int := 0;
BEGIN
  FOR v_id IN SELECT id FROM approvals.access_request WHERE status = 'pending' AND expires_at <= now()
      ORDER BY expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED LOOP
    PERFORM approvals.end_request(v_id, 'expired');
    v_count := v_count + 1;
  END LOOP;
  RETURN v_count;
END $$;

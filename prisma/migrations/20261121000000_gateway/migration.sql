-- Enforcement side: gated calls, their fences and their records.
-- State changes go through the functions at the end: lock the row first, then update it under conditions read with
-- clock_timestamp(), so that no time passes unseen between the check and the change.
CREATE SCHEMA IF NOT EXISTS gateway;

CREATE TABLE gateway.transition (
  from_state text NOT NULL,
  to_state   text NOT NULL,
  PRIMARY KEY (from_state, to_state)
);
INSERT INTO gateway.transition VALUES
  ('preparing','pending'), ('preparing','denied'), ('preparing','cancelled'), ('preparing','failed'),
  ('pending','input_required'), ('pending','granted'), ('pending','denied'), ('pending','cancelled'), ('pending','failed'),
  ('input_required','pending'), ('input_required','denied'), ('input_required','cancelled'), ('input_required','failed'),
  ('granted','pending'), ('granted','claimed'), ('granted','denied'), ('granted','cancelled'), ('granted','failed'),
  ('claimed','executed'), ('claimed','execution_error'), ('claimed','outcome_unknown');

CREATE TABLE gateway.gated_call (
  id                  uuid PRIMARY KEY,
  task_id             text NOT NULL UNIQUE,
  owner_key           text NOT NULL,
  dedup_key           text NOT NULL,
  state               text NOT NULL,
  state_version       integer NOT NULL DEFAULT 1,
  generation          integer NOT NULL DEFAULT 1,
  reason              text,
  claim_id            uuid,
  request_deadline    timestamptz NOT NULL,
  approval_expires_at timestamptz,
  execution_deadline  timestamptz,
  ended_at            timestamptz,
  retain_until        timestamptz NOT NULL,
  created_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_updated_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT gated_call_state_known CHECK (state IN ('preparing','pending','input_required','granted','claimed',
    'executed','execution_error','outcome_unknown','denied','cancelled','failed')),
  CONSTRAINT gated_call_ended CHECK
    ((state IN ('executed','execution_error','outcome_unknown','denied','cancelled','failed')) = (ended_at IS NOT NULL)),
  CONSTRAINT gated_call_unclaimed CHECK (state NOT IN ('denied','cancelled','failed') OR claim_id IS NULL),
  CONSTRAINT gated_call_claimed CHECK
    (state NOT IN ('claimed','executed','execution_error','outcome_unknown') OR claim_id IS NOT NULL)
);
-- One open gated call per caller, tool and arguments: an identical call joins it.
CREATE UNIQUE INDEX gated_call_dedup ON gateway.gated_call (dedup_key) WHERE ended_at IS NULL;
CREATE INDEX gated_call_open_by_owner ON gateway.gated_call (owner_key) WHERE ended_at IS NULL;
CREATE INDEX gated_call_open_by_deadline ON gateway.gated_call (request_deadline) WHERE ended_at IS NULL;

CREATE TABLE gateway.call_binding (
  gated_call_id uuid PRIMARY KEY REFERENCES gateway.gated_call,
  tool          text NOT NULL,
  upstream      text NOT NULL,
  upstream_tool text NOT NULL,
  arguments     text NOT NULL,
  call_digest   text NOT NULL,
  tool_digest   text NOT NULL,
  caller        jsonb NOT NULL,
  evaluation    text NOT NULL
);
CREATE INDEX call_binding_by_digest ON gateway.call_binding (call_digest);

CREATE TABLE gateway.submission (
  id                uuid PRIMARY KEY,
  gated_call_id     uuid NOT NULL REFERENCES gateway.gated_call,
  generation        integer NOT NULL,
  idempotency_key   text NOT NULL UNIQUE,
  endpoint          text NOT NULL,
  body              text NOT NULL,
  lease_until       timestamptz NOT NULL DEFAULT clock_timestamp(),
  access_request_id text,
  status_endpoint   text,
  cancel_endpoint   text,
  created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (gated_call_id, generation)
);
CREATE INDEX submission_by_access_request ON gateway.submission (access_request_id);

CREATE TABLE gateway.decision (
  id            uuid PRIMARY KEY,
  gated_call_id uuid NOT NULL REFERENCES gateway.gated_call,
  generation    integer NOT NULL,
  kind          text NOT NULL CHECK (kind IN ('requestable','allow','deny','retry')),
  reason        text,
  evaluation_id text,
  call_digest   text NOT NULL,
  evaluated_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX decision_by_gated_call ON gateway.decision (gated_call_id);

CREATE TABLE gateway.approval (
  gated_call_id  uuid NOT NULL REFERENCES gateway.gated_call,
  generation     integer NOT NULL,
  approval_id    text NOT NULL UNIQUE,
  approved_at    timestamptz NOT NULL,
  approved_until timestamptz NOT NULL,
  body           text NOT NULL,
  PRIMARY KEY (gated_call_id, generation)
);

CREATE TABLE gateway.execution_claim (
  gated_call_id uuid PRIMARY KEY REFERENCES gateway.gated_call,
  claim_id      uuid NOT NULL UNIQUE,
  generation    integer NOT NULL,
  decision_id   uuid NOT NULL UNIQUE REFERENCES gateway.decision,
  claimed_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The permit to send. Its primary key is what makes a second execution impossible, whatever the engine repeats.
CREATE TABLE gateway.invocation (
  gated_call_id uuid PRIMARY KEY REFERENCES gateway.execution_claim,
  invocation_id uuid NOT NULL UNIQUE,
  upstream_key  text NOT NULL UNIQUE,
  began_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  not_sent_at   timestamptz
);

CREATE TABLE gateway.call_result (
  gated_call_id uuid PRIMARY KEY REFERENCES gateway.gated_call,
  is_error      boolean NOT NULL,
  result        text NOT NULL,
  result_digest text NOT NULL,
  recorded_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE gateway.call_event (
  gated_call_id uuid NOT NULL REFERENCES gateway.gated_call,
  seq           integer NOT NULL,
  to_state      text NOT NULL,
  cause         text NOT NULL,
  at            timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (gated_call_id, seq)
);

-- `body` is the record as text; `digest` is the SHA-256 of exactly these bytes.
CREATE TABLE gateway.outcome_record (
  outcome_ref   text PRIMARY KEY,
  gated_call_id uuid NOT NULL UNIQUE REFERENCES gateway.gated_call,
  task_id       text NOT NULL UNIQUE,
  call_digest   text NOT NULL,
  tool          text NOT NULL,
  state         text NOT NULL,
  requester     text NOT NULL,
  body          text NOT NULL,
  digest        text NOT NULL,
  recorded_at   timestamptz NOT NULL
);
CREATE INDEX outcome_record_by_call ON gateway.outcome_record (call_digest);
CREATE INDEX outcome_record_by_time ON gateway.outcome_record (recorded_at DESC, outcome_ref DESC);

CREATE TABLE gateway.outbox (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind          text NOT NULL CHECK (kind IN ('start_workflow','poke_workflow','cancel_access_request')),
  subject_id    text NOT NULL,
  urgency       smallint NOT NULL DEFAULT 0,
  available_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts      integer NOT NULL DEFAULT 0,
  done_at       timestamptz
);
CREATE INDEX outbox_due ON gateway.outbox (urgency, available_at) WHERE done_at IS NULL;

-- Signed callbacks that were accepted. The primary key stops a replay.
CREATE TABLE gateway.callback_inbox (
  webhook_id  text PRIMARY KEY,
  body_digest text NOT NULL,
  received_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION gateway.guard_gated_call() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.state = OLD.state THEN
    IF OLD.ended_at IS NOT NULL AND (NEW.generation, NEW.reason, NEW.claim_id, NEW.ended_at)
       IS DISTINCT FROM (OLD.generation, OLD.reason, OLD.claim_id, OLD.ended_at) THEN
      RAISE EXCEPTION 'gated call % has ended and cannot change', OLD.id USING ERRCODE = 'CS001';
    END IF;
    RETURN NEW;
  END IF;
  IF NOT EXISTS (SELECT 1 FROM gateway.transition WHERE from_state = OLD.state AND to_state = NEW.state) THEN
    RAISE EXCEPTION 'gated call % cannot go from % to %', OLD.id, OLD.state, NEW.state USING ERRCODE = 'CS001';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER gated_call_guard BEFORE UPDATE ON gateway.gated_call
  FOR EACH ROW EXECUTE FUNCTION gateway.guard_gated_call();

CREATE FUNCTION gateway.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'CS002';
END $$;
CREATE TRIGGER call_binding_immutable BEFORE UPDATE ON gateway.call_binding
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE TRIGGER decision_immutable BEFORE UPDATE ON gateway.decision
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE TRIGGER execution_claim_immutable BEFORE UPDATE OR DELETE ON gateway.execution_claim
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE TRIGGER call_result_immutable BEFORE UPDATE ON gateway.call_result
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE TRIGGER call_event_immutable BEFORE UPDATE OR DELETE ON gateway.call_event
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE TRIGGER outcome_record_immutable BEFORE UPDATE OR DELETE ON gateway.outcome_record
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE TRIGGER outcome_record_kept BEFORE TRUNCATE ON gateway.outcome_record
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.refuse_change();

-- Tells the dispatcher that there is work; it also looks by itself, so a lost notice costs only time. A start has time:
-- nothing happens in a new workflow until its first look is due, while somebody waits for what a poke sets going.
CREATE FUNCTION gateway.enqueue(p_kind text, p_subject text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO gateway.outbox (kind, subject_id, urgency)
    VALUES (p_kind, p_subject, CASE p_kind WHEN 'start_workflow' THEN 1 ELSE 0 END);
  SELECT pg_notify('gateway_outbox', '');
$$;

-- The record of an ended call. It holds digests of arguments and result, never the arguments or the result.
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
    'tool', b.tool, 'callDigest', b.call_digest, 'toolDigest', b.tool_digest, 'requester', b.caller,
    'subject', b.evaluation::jsonb -> 'subject', 'resource', b.evaluation::jsonb -> 'resource',
    'action', b.evaluation::jsonb -> 'action', 'createdAt', c.created_at, 'generation', c.generation,
    'requestDeadline', c.request_deadline, 'approvalExpiresAt', c.approval_expires_at,
    'decisions', (SELECT coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'generation', d.generation, 'kind', d.kind,
        'reason', d.reason, 'evaluationId', d.evaluation_id, 'evaluatedAt', d.evaluated_at)
        ORDER BY d.evaluated_at), '[]') FROM gateway.decision d WHERE d.gated_call_id = p_call),
    'accessRequests', (SELECT coalesce(jsonb_agg(jsonb_build_object('generation', s.generation,
        'accessRequestId', s.access_request_id, 'approvalId', a.approval_id, 'approvedAt', a.approved_at)
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
    VALUES (v_ref, p_call, c.task_id, b.call_digest, b.tool, c.state, b.caller ->> 'subject', v_body,
            'sha-256:' || encode(sha256(convert_to(v_body, 'UTF8')), 'hex'), v_at);
END $$;

-- Changes the state of a call whose row the caller has locked, with its event and, at an end, its outcome record.
CREATE FUNCTION gateway.move(p_call uuid, p_to text, p_cause text, p_reason text, p_retention_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_version integer; v_end boolean := p_to IN
  ('executed','execution_error','outcome_unknown','denied','cancelled','failed');
BEGIN
  UPDATE gateway.gated_call SET state = p_to, reason = coalesce(p_reason, reason), state_version = state_version + 1,
    last_updated_at = clock_timestamp(), ended_at = CASE WHEN v_end THEN clock_timestamp() END,
    retain_until = CASE WHEN v_end
      THEN greatest(retain_until, clock_timestamp() + p_retention_ms * interval '1 ms') ELSE retain_until END
    WHERE id = p_call RETURNING state_version INTO STRICT v_version;
  INSERT INTO gateway.call_event (gated_call_id, seq, to_state, cause) VALUES (p_call, v_version, p_to, p_cause);
  IF v_end THEN PERFORM gateway.write_outcome_record(p_call); END IF;
END $$;

-- Opens a gated call with its binding, its first decision and its submission intent, or joins the open one that the
-- same caller has for the same tool and arguments. Nothing outside has been told yet.
CREATE FUNCTION gateway.open_gated_call(p jsonb)
RETURNS TABLE (outcome text, gated_call_id uuid, task_id text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE v_id uuid := (p ->> 'id')::uuid; v_found gateway.gated_call; v_now timestamptz;
BEGIN
  IF (SELECT count(*) FROM gateway.gated_call g WHERE g.owner_key = p ->> 'owner_key' AND g.ended_at IS NULL)
     >= (p ->> 'max_open')::int
     AND NOT EXISTS (SELECT 1 FROM gateway.gated_call g WHERE g.dedup_key = p ->> 'dedup_key' AND g.ended_at IS NULL) THEN
    RETURN QUERY SELECT 'too_many', NULL::uuid, NULL::text; RETURN;
  END IF;
  v_now := clock_timestamp();
  INSERT INTO gateway.gated_call (id, task_id, owner_key, dedup_key, state, request_deadline, retain_until, created_at,
      last_updated_at)
    VALUES (v_id, p ->> 'task_id', p ->> 'owner_key', p ->> 'dedup_key', 'preparing',
      v_now + (p ->> 'request_ttl_ms')::bigint * interval '1 ms',
      v_now + ((p ->> 'request_ttl_ms')::bigint + (p ->> 'retention_ms')::bigint) * interval '1 ms', v_now, v_now)
    ON CONFLICT (dedup_key) WHERE ended_at IS NULL DO NOTHING;
  IF NOT FOUND THEN
    SELECT * INTO v_found FROM gateway.gated_call g WHERE g.dedup_key = p ->> 'dedup_key' AND g.ended_at IS NULL;
    IF FOUND THEN RETURN QUERY SELECT 'joined', v_found.id, v_found.task_id; RETURN; END IF;
    -- The other one ended between the two statements: the caller asks again, from the decision on.
    RETURN QUERY SELECT 'gone', NULL::uuid, NULL::text; RETURN;
  END IF;
  INSERT INTO gateway.call_binding VALUES (v_id, p ->> 'tool', p ->> 'upstream', p ->> 'upstream_tool',
    p ->> 'arguments', p ->> 'call_digest', p ->> 'tool_digest', p -> 'caller', p ->> 'evaluation');
  INSERT INTO gateway.decision (id, gated_call_id, generation, kind, reason, evaluation_id, call_digest)
    VALUES ((p ->> 'decision_id')::uuid, v_id, 1, 'requestable', p ->> 'decision_reason', p ->> 'evaluation_id',
      p ->> 'call_digest');
  INSERT INTO gateway.submission (id, gated_call_id, generation, idempotency_key, endpoint, body)
    VALUES ((p ->> 'submission_id')::uuid, v_id, 1, p ->> 'idempotency_key', p ->> 'submission_endpoint',
      p ->> 'submission_body');
  INSERT INTO gateway.call_event (gated_call_id, seq, to_state, cause) VALUES (v_id, 1, 'preparing', 'requestable_denial');
  RETURN QUERY SELECT 'opened', v_id, p ->> 'task_id';
END $$;

-- The right to contact the access request service for a call that has no handle yet. One taker wins; nobody wins while
-- the lease of another runs, and a lease that ran out (its holder died) is taken over with the same key and body.
CREATE FUNCTION gateway.take_submission(p_call uuid, p_lease_ms bigint)
RETURNS TABLE (generation int, endpoint text, idempotency_key text, body text) LANGUAGE sql AS $$
  UPDATE gateway.submission s SET lease_until = clock_timestamp() + p_lease_ms * interval '1 ms'
    FROM gateway.gated_call g
    WHERE g.id = p_call AND s.gated_call_id = g.id AND s.generation = g.generation AND s.access_request_id IS NULL
      AND g.ended_at IS NULL AND s.lease_until <= clock_timestamp()
    RETURNING s.generation, s.endpoint, s.idempotency_key, s.body;
$$;

-- Records the handle the access request service gave. The task exists from here on. Repeating it changes nothing.
CREATE FUNCTION gateway.attach_handle(p_call uuid, p_generation int, p_request_id text, p_status_endpoint text,
  p_cancel_endpoint text, p_expires_at timestamptz) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call; v_known text;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  SELECT access_request_id INTO STRICT v_known FROM gateway.submission
    WHERE gated_call_id = p_call AND generation = p_generation;
  IF v_known IS NOT NULL AND v_known <> p_request_id THEN RETURN 'conflict'; END IF;
  IF v_known IS NULL THEN
    UPDATE gateway.submission SET access_request_id = p_request_id, status_endpoint = p_status_endpoint,
      cancel_endpoint = p_cancel_endpoint WHERE gated_call_id = p_call AND generation = p_generation;
  END IF;
  IF c.ended_at IS NOT NULL THEN
    IF v_known IS NULL AND c.state IN ('cancelled','denied') THEN
      PERFORM gateway.enqueue('cancel_access_request', p_call::text);
    END IF;
    RETURN 'ended';
  END IF;
  IF c.state <> 'preparing' THEN RETURN 'attached'; END IF;
  UPDATE gateway.gated_call SET request_deadline = least(request_deadline, coalesce(p_expires_at, request_deadline))
    WHERE id = p_call;
  PERFORM gateway.move(p_call, 'pending', 'submitted', NULL, 0);
  PERFORM gateway.enqueue('start_workflow', p_call::text);
  RETURN 'attached';
END $$;

-- Ends a call that is not claimed: denied, cancelled or failed. The claim competes for the same row, so exactly one wins.
-- Answers the state the call is in afterwards.
CREATE FUNCTION gateway.end_unclaimed(p_call uuid, p_to text, p_reason text, p_cause text, p_retention_ms bigint)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_state text;
BEGIN
  SELECT state INTO STRICT v_state FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF v_state NOT IN ('preparing','pending','input_required','granted') THEN RETURN v_state; END IF;
  PERFORM gateway.move(p_call, p_to, p_cause, p_reason, p_retention_ms);
  IF p_reason IN ('client_cancelled','abandoned','request_expired') THEN
    PERFORM gateway.enqueue('cancel_access_request', p_call::text);
  END IF;
  PERFORM gateway.enqueue('poke_workflow', p_call::text);
  RETURN p_to;
END $$;

-- Ends a call whose deadline has passed, and does nothing to any other. Claimed calls become `outcome_unknown` when the
-- permit to send was given, and `execution_error` ("not sent") when it was not: the lock stops any later permit.
CREATE FUNCTION gateway.expire_gated_call(p_call uuid, p_retention_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call; v_now timestamptz; i gateway.invocation;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  v_now := clock_timestamp();
  IF c.state IN ('preparing','pending','input_required') AND c.request_deadline <= v_now THEN
    RETURN gateway.end_unclaimed(p_call, 'denied', 'request_expired', 'deadline', p_retention_ms);
  ELSIF c.state = 'granted' AND least(c.request_deadline, c.approval_expires_at) <= v_now THEN
    RETURN gateway.end_unclaimed(p_call, 'denied',
      CASE WHEN c.approval_expires_at <= v_now THEN 'approval_expired' ELSE 'request_expired' END, 'deadline', p_retention_ms);
  ELSIF c.state = 'claimed' AND c.execution_deadline <= v_now THEN
    SELECT * INTO i FROM gateway.invocation WHERE gated_call_id = p_call;
    IF FOUND AND i.not_sent_at IS NULL THEN
      PERFORM gateway.move(p_call, 'outcome_unknown', 'execution_deadline', 'no_result', p_retention_ms);
      RETURN 'outcome_unknown';
    END IF;
    PERFORM gateway.move(p_call, 'execution_error', 'execution_deadline', 'not_sent', p_retention_ms);
    RETURN 'execution_error';
  END IF;
  RETURN c.state;
END $$;

-- Records an authenticated grant for the current generation. A superseded generation, an approval that is over, and a
-- call that went on are left as they are. Answers the state the call is in afterwards.
CREATE FUNCTION gateway.grant_approval(p_call uuid, p_generation int, p_approval_id text, p_approved_at timestamptz,
  p_approved_until timestamptz, p_body text, p_retention_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF c.state NOT IN ('pending','input_required') OR c.generation <> p_generation THEN RETURN c.state; END IF;
  IF c.request_deadline <= clock_timestamp() THEN RETURN gateway.expire_gated_call(p_call, p_retention_ms); END IF;
  IF p_approved_until <= clock_timestamp() THEN
    RETURN gateway.end_unclaimed(p_call, 'denied', 'approval_expired', 'grant', p_retention_ms);
  END IF;
  INSERT INTO gateway.approval VALUES (p_call, p_generation, p_approval_id, p_approved_at, p_approved_until, p_body);
  UPDATE gateway.gated_call SET approval_expires_at = p_approved_until WHERE id = p_call;
  PERFORM gateway.move(p_call, 'granted', 'grant', NULL, 0);
  RETURN 'granted';
END $$;

-- The one irrevocable right to execute. `won` and `mine` may go on; `lost` and `stale` may not.
-- The lock comes first: a statement that checked the deadline before waiting for the row could claim after expiry.
CREATE FUNCTION gateway.claim_execution(p_call uuid, p_generation int, p_decision uuid, p_claim uuid,
  p_execution_ms bigint, p_retention_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call; v_now timestamptz;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF c.claim_id = p_claim THEN RETURN CASE WHEN c.state = 'claimed' THEN 'mine' ELSE 'lost' END; END IF;
  IF c.state <> 'granted' OR c.generation <> p_generation OR c.claim_id IS NOT NULL THEN RETURN 'lost'; END IF;
  v_now := clock_timestamp();
  IF c.request_deadline <= v_now OR c.approval_expires_at <= v_now THEN RETURN 'lost'; END IF;
  IF NOT EXISTS (SELECT 1 FROM gateway.decision d JOIN gateway.call_binding b USING (gated_call_id)
      WHERE d.id = p_decision AND d.gated_call_id = p_call AND d.generation = p_generation AND d.kind = 'allow'
        AND d.call_digest = b.call_digest AND d.evaluated_at > v_now - interval '5 s') THEN
    RETURN 'stale';
  END IF;
  UPDATE gateway.gated_call SET claim_id = p_claim,
    execution_deadline = v_now + p_execution_ms * interval '1 ms',
    retain_until = greatest(retain_until, v_now + (p_execution_ms + p_retention_ms) * interval '1 ms') WHERE id = p_call;
  INSERT INTO gateway.execution_claim (gated_call_id, claim_id, generation, decision_id, claimed_at)
    VALUES (p_call, p_claim, p_generation, p_decision, v_now);
  PERFORM gateway.move(p_call, 'claimed', 'claim', NULL, 0);
  RETURN 'won';
END $$;

-- The permit to send: given once per gated call, only while it is claimed and within its execution deadline.
CREATE FUNCTION gateway.begin_invocation(p_call uuid, p_claim uuid, p_invocation uuid, p_upstream_key text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF c.state <> 'claimed' OR c.claim_id <> p_claim OR c.execution_deadline <= clock_timestamp() THEN RETURN false; END IF;
  INSERT INTO gateway.invocation (gated_call_id, invocation_id, upstream_key)
    VALUES (p_call, p_invocation, p_upstream_key) ON CONFLICT DO NOTHING;
  RETURN FOUND;
END $$;

-- Settles a claimed call with what its one invocation brought, or with the certainty that nothing was sent.
-- A call that was already settled stays as it is. Answers the state the call is in afterwards.
CREATE FUNCTION gateway.settle_execution(p_call uuid, p_invocation uuid, p_sent boolean, p_is_error boolean,
  p_result text, p_result_digest text, p_retention_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_state text;
BEGIN
  SELECT state INTO STRICT v_state FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF v_state <> 'claimed' THEN RETURN v_state; END IF;
  PERFORM 1 FROM gateway.invocation WHERE gated_call_id = p_call AND invocation_id = p_invocation;
  IF NOT FOUND THEN RETURN v_state; END IF;
  IF NOT p_sent THEN
    UPDATE gateway.invocation SET not_sent_at = clock_timestamp() WHERE gated_call_id = p_call;
    PERFORM gateway.move(p_call, 'execution_error', 'not_sent', 'not_sent', p_retention_ms);
    RETURN 'execution_error';
  END IF;
  INSERT INTO gateway.call_result (gated_call_id, is_error, result, result_digest)
    VALUES (p_call, p_is_error, p_result, p_result_digest);
  v_state := CASE WHEN p_is_error THEN 'execution_error' ELSE 'executed' END;
  PERFORM gateway.move(p_call, v_state, 'result', NULL, p_retention_ms);
  RETURN v_state;
END $$;

-- Accepts a signed callback once and wakes the workflow of the call it speaks of. A callback is a hint to look, nothing more.
CREATE FUNCTION gateway.accept_callback(p_webhook_id text, p_body_digest text, p_request_id text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_call uuid;
BEGIN
  INSERT INTO gateway.callback_inbox (webhook_id, body_digest) VALUES (p_webhook_id, p_body_digest) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN CASE WHEN EXISTS (SELECT 1 FROM gateway.callback_inbox WHERE webhook_id = p_webhook_id
      AND body_digest = p_body_digest) THEN 'repeated' ELSE 'conflict' END;
  END IF;
  SELECT g.id INTO v_call FROM gateway.submission s JOIN gateway.gated_call g ON g.id = s.gated_call_id
    AND g.generation = s.generation WHERE s.access_request_id = p_request_id AND g.ended_at IS NULL;
  IF FOUND THEN PERFORM gateway.enqueue('poke_workflow', v_call::text); END IF;
  RETURN 'accepted';
END $$;

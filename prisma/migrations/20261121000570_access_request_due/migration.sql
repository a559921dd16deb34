-- What an access request does by the clock and by automatic resolvers, with the database alone: no engine waits for it.
-- In order: columns, tables, functions that are replaced, functions that are new, functions that are gone.

-- When people are next reminded of the stage that is open; NULL when no reminder of it is left.
ALTER TABLE approvals.access_request ADD COLUMN remind_at timestamptz;
DROP INDEX approvals.access_request_open_by_deadline;
CREATE INDEX access_request_open_by_due ON approvals.access_request (least(expires_at, stage_ends_at, remind_at))
  WHERE status = 'pending';

ALTER TABLE approvals.outbox DROP CONSTRAINT outbox_kind_check;
ALTER TABLE approvals.outbox ADD CONSTRAINT outbox_kind_check CHECK (kind IN ('callback','notification'));

-- Questions to automatic resolvers, one row for each, written by the transaction that opens the stage and deleted once there is an
-- answer. An outbox of its own: a resolver that is slow delays no callback. `subject_id` is the request, a slash and the stage.
CREATE TABLE approvals.question_outbox (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind          text NOT NULL DEFAULT 'question' CHECK (kind = 'question'),
  subject_id    text NOT NULL UNIQUE,
  urgency       smallint NOT NULL DEFAULT 0,
  available_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts      integer NOT NULL DEFAULT 0
);
CREATE INDEX question_outbox_due ON approvals.question_outbox (urgency, available_at, id);

-- Replaced: `remind_at` changes with the stage and with each reminder.
CREATE OR REPLACE FUNCTION approvals.guard_access_request() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE v_kept text[] := ARRAY['status','stage','stage_opened_at','stage_ends_at','remind_at','ended_at','end_note','approval_id',
  'approved_at','approved_until','approval_state'];
BEGIN
  IF OLD.status <> 'pending' AND NEW.idempotency_key IS NULL
     AND to_jsonb(NEW) - 'idempotency_key' = to_jsonb(OLD) - 'idempotency_key' THEN
    RETURN NEW;
  END IF;
  IF to_jsonb(NEW) - v_kept <> to_jsonb(OLD) - v_kept THEN
    RAISE EXCEPTION 'what access request % asks cannot change', OLD.id USING ERRCODE = 'CS002';
  END IF;
  IF NEW.stage < OLD.stage THEN
    RAISE EXCEPTION 'access request % cannot go back to an earlier stage', OLD.id USING ERRCODE = 'CS001';
  END IF;
  IF OLD.status <> 'pending' AND (to_jsonb(NEW) - 'approval_state' <> to_jsonb(OLD) - 'approval_state'
     OR OLD.approval_state IS NOT NULL) THEN
    RAISE EXCEPTION 'access request % has ended and cannot change', OLD.id USING ERRCODE = 'CS001';
  END IF;
  RETURN NEW;
END $$;

-- Replaced: notes what there is to tell of a request whose row the caller has locked, once, and has it sent where people are told.
CREATE OR REPLACE FUNCTION approvals.tell(p_id text, p_event text, p_number int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_notice bigint;
BEGIN
  SELECT * INTO STRICT r FROM approvals.access_request WHERE id = p_id;
  -- The inbox shows reminders, also where no receiver is told.
  IF NOT r.notified AND p_event <> 'reminder' THEN RETURN; END IF;
  INSERT INTO approvals.notice (access_request_id, event, stage, number) VALUES (p_id, p_event, r.stage, p_number)
    ON CONFLICT DO NOTHING RETURNING id INTO v_notice;
  IF r.notified AND v_notice IS NOT NULL THEN
    INSERT INTO approvals.outbox (kind, subject_id) VALUES ('notification', v_notice::text);
    PERFORM pg_notify('approvals_outbox', '');
  END IF;
END $$;

-- New: when people are next reminded, after an instant, of a stage that opened at another; NULL when no reminder is left.
CREATE FUNCTION approvals.next_reminder(p_stage jsonb, p_opened_at timestamptz, p_after timestamptz)
RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT min(p_opened_at + after::bigint * interval '1 s') FROM jsonb_array_elements_text(p_stage -> 'remindAfterSeconds') AS r (after)
    WHERE p_opened_at + after::bigint * interval '1 s' > p_after
$$;

-- New: has the automatic resolver of a stage that opens asked, and people told. The caller has locked the row. `p_event` says how the
-- stage came about: opened, escalated.
CREATE FUNCTION approvals.announce_stage(p_id text, p_event text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO approvals.question_outbox (subject_id) SELECT id || '/' || stage FROM approvals.access_request
    WHERE id = p_id AND stages -> stage - 1 ->> 'automatic' IS NOT NULL;
  IF FOUND THEN PERFORM pg_notify('approvals_outbox', ''); END IF;
  PERFORM approvals.tell(p_id, p_event, 1);
END $$;

-- Replaced: a stage that opens has its first reminder ahead, and announces itself.
CREATE OR REPLACE FUNCTION approvals.open_stage(p_id text, p_stage int, p_event text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := clock_timestamp();
BEGIN
  UPDATE approvals.access_request SET stage = p_stage, stage_opened_at = v_now,
    stage_ends_at = approvals.stage_end(stages -> p_stage - 1),
    remind_at = approvals.next_reminder(stages -> p_stage - 1, v_now, v_now) WHERE id = p_id;
  PERFORM approvals.announce_stage(p_id, p_event);
END $$;

-- Replaced: the same for the first stage.
CREATE OR REPLACE FUNCTION approvals.insert_access_request(p jsonb) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := clock_timestamp(); v_expires timestamptz := v_now + (p ->> 'ttl_ms')::bigint * interval '1 ms';
BEGIN
  INSERT INTO approvals.access_request (id, client_id, submitted_by, idempotency_key, body_digest, bundle_id, position, evaluation_id, trace_id, token_jti, denial_part,
      subject, action, resource, context, claimed, keep_ms, tool, template, policies, reason, title, description, requester_issuer, requester_subject,
      requester_client, generation, call_digest, binding_hash, binding_context_members, requested_until,
      callback_endpoint, callback_state, callback_events, parties, stages, separate_stages, approval_ms, notified,
      stage_opened_at, stage_ends_at, remind_at, created_at, expires_at)
    SELECT r.id, r.client_id, r.submitted_by, r.idempotency_key, r.body_digest, r.bundle_id, coalesce(r.position, 1), r.evaluation_id, r.trace_id, r.token_jti,
      coalesce(r.denial_part, 1),
      r.subject, r.action, r.resource, r.context, r.claimed, r.keep_ms, r.tool, r.template, r.policies, r.reason, r.title, r.description, r.requester_issuer,
      r.requester_subject, r.requester_client, r.generation, r.call_digest, r.binding_hash, r.binding_context_members,
      r.requested_until, r.callback_endpoint, r.callback_state, r.callback_events, r.parties, r.stages, r.separate_stages,
      r.approval_ms, coalesce(r.notified, false), v_now, approvals.stage_end(r.stages -> 0),
      approvals.next_reminder(r.stages -> 0, v_now, v_now), v_now, v_expires
    FROM jsonb_populate_record(NULL::approvals.access_request, p) r
    ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM approvals.announce_stage(p ->> 'id', 'opened');
  RETURN v_expires;
END $$;

-- New: notes the reminder that is due, of a request whose row the caller has locked. Of several that are due at once only the last is
-- sent: nobody needs all that were missed. Calling it again changes nothing.
CREATE FUNCTION approvals.remind(p_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_now timestamptz := clock_timestamp(); v_number int;
BEGIN
  SELECT * INTO STRICT r FROM approvals.access_request WHERE id = p_id;
  IF r.status <> 'pending' OR (r.remind_at <= v_now) IS NOT TRUE THEN RETURN; END IF;
  SELECT count(*) INTO v_number FROM jsonb_array_elements_text(r.stages -> r.stage - 1 -> 'remindAfterSeconds') AS s (after)
    WHERE r.stage_opened_at + after::bigint * interval '1 s' <= v_now;
  PERFORM approvals.tell(p_id, 'reminder', v_number);
  UPDATE approvals.access_request
    SET remind_at = approvals.next_reminder(r.stages -> r.stage - 1, r.stage_opened_at, v_now) WHERE id = p_id;
END $$;

-- New, in the place of expire_due: carries out every deadline that has passed and notes every reminder that is due; bundle by
-- bundle, as they have to be locked. Answers with each request, and why it failed: it stays as it was then, and holds up no other.
-- Several may run at once: each leaves to the others what they hold.
CREATE FUNCTION approvals.carry_out_due(p_limit int) RETURNS TABLE (request_id text, failure text) LANGUAGE plpgsql AS $$
BEGIN
  FOR request_id IN SELECT id FROM
      (SELECT id, bundle_id, least(expires_at, stage_ends_at, remind_at) AS due FROM approvals.access_request
        WHERE status = 'pending' AND least(expires_at, stage_ends_at, remind_at) <= now()
        ORDER BY least(expires_at, stage_ends_at, remind_at) LIMIT p_limit FOR UPDATE SKIP LOCKED) AS due
      ORDER BY bundle_id NULLS FIRST, due LOOP
    failure := NULL;
    BEGIN
      IF approvals.expire_access_request(request_id) = 'pending' THEN PERFORM approvals.remind(request_id); END IF;
    EXCEPTION WHEN OTHERS THEN failure := SQLERRM;
    END;
    RETURN NEXT;
  END LOOP;
END $$;

DROP FUNCTION approvals.expire_due(int);
DROP FUNCTION approvals.advance_access_request(text);
DROP FUNCTION approvals.is_late(approvals.access_request);
DROP FUNCTION approvals.missing_reminder(approvals.access_request, timestamptz);
DROP FUNCTION approvals.reminders_of(approvals.access_request);
DROP FUNCTION approvals.awaits_resolver(approvals.access_request);
DROP FUNCTION approvals.is_paced(jsonb);

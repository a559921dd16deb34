-- Authority side: access requests, the votes on them, and what was said about them to the outside; and the sessions of
-- the two groups of pages. State changes go through functions: they lock the row first, then check with
-- clock_timestamp(), so that no time passes unseen between the check and the change.
CREATE SCHEMA IF NOT EXISTS approvals;
CREATE SCHEMA IF NOT EXISTS audit;

-- Access requests that were submitted together: their client knows the bundle by this id and none of them by its own. How it
-- stands follows from its items. Written once, and gone with all of them.
CREATE TABLE approvals.bundle (
  id                text PRIMARY KEY,
  submitted_by      text NOT NULL,
  callback_endpoint text,
  callback_state    text,
  callback_events   text[]
);

-- `subject`, `action`, `resource` and `context` are RFC 8785 text: what approvers see is exactly what was submitted. So is
-- `claimed`, the rest of a submission: kept for auditors, and nothing rests on it. A key that is no longer kept is NULL.
-- `stages` is who has to agree, as it was in force when the request was opened; `stage` counts them from 1, and
-- `stage_opened_at` and `stage_ends_at` are of the one that is open; it may have no deadline. `parties` are the subjects that
-- may not decide. `notified`: somebody is told what becomes of it, beside whoever asked for a callback. An item of a bundle has a
-- `position` in it, from 1; the key of the submission stands in the first, where the one constraint keeps it from being used twice,
-- and the callback in the bundle. `denial_part`: which of the things that its denial is about it stands for. Whatever uses a denial has its
-- first part, so no denial is used twice.
CREATE TABLE approvals.access_request (
  id                      text PRIMARY KEY,
  client_id               text NOT NULL,
  submitted_by            text NOT NULL,
  idempotency_key         text,
  body_digest             text NOT NULL,
  bundle_id               text REFERENCES approvals.bundle ON DELETE CASCADE,
  position                integer NOT NULL DEFAULT 1 CHECK (position >= 1),
  evaluation_id           text NOT NULL,
  -- W3C trace id of the submission, where its enforcement point sent one: it is for logs and proves nothing.
  trace_id                text CHECK (trace_id ~ '^[0-9a-f]{32}$'),
  token_jti               text NOT NULL,
  denial_part             integer NOT NULL DEFAULT 1,
  subject                 text NOT NULL,
  action                  text NOT NULL,
  resource                text NOT NULL,
  context                 text NOT NULL,
  claimed                 text NOT NULL,
  tool                    text NOT NULL,
  template                text,
  policies                text[] NOT NULL DEFAULT '{}',
  reason                  text,
  title                   text,
  description             text,
  requester_issuer        text,
  requester_subject       text NOT NULL,
  requester_client        text,
  generation              integer NOT NULL,
  call_digest             text NOT NULL,
  binding_hash            text NOT NULL,
  binding_context_members text[] NOT NULL,
  parties                 text[] NOT NULL,
  stages                  jsonb NOT NULL CHECK (jsonb_array_length(stages) >= 1),
  separate_stages         boolean NOT NULL,
  approval_ms             bigint NOT NULL CHECK (approval_ms > 0),
  stage                   integer NOT NULL DEFAULT 1 CHECK (stage BETWEEN 1 AND jsonb_array_length(stages)),
  stage_opened_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  stage_ends_at           timestamptz,
  notified                boolean NOT NULL,
  requested_until         timestamptz,
  callback_endpoint       text,
  callback_state          text,
  callback_events         text[],
  status                  text NOT NULL DEFAULT 'pending',
  created_at              timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at              timestamptz NOT NULL,
  ended_at                timestamptz,
  end_note                jsonb,
  keep_ms                 bigint NOT NULL CHECK (keep_ms >= 86400000),
  approval_id             text UNIQUE,
  approved_at             timestamptz,
  approved_until          timestamptz,
  approval_state          text,
  UNIQUE (client_id, idempotency_key),
  UNIQUE (evaluation_id, denial_part),
  UNIQUE (token_jti, denial_part),
  UNIQUE (bundle_id, position),
  CONSTRAINT access_request_alone CHECK (bundle_id IS NOT NULL OR position = 1),
  CONSTRAINT access_request_denial_part CHECK (denial_part IN (1, position)),
  CONSTRAINT access_request_key_of_bundle CHECK (position = 1 OR idempotency_key IS NULL),
  CONSTRAINT access_request_callback_of_bundle CHECK (bundle_id IS NULL OR callback_endpoint IS NULL),
  CONSTRAINT access_request_status_known CHECK
    (status IN ('pending','approved','denied','expired','cancelled','failed')),
  CONSTRAINT access_request_ended CHECK ((status = 'pending') = (ended_at IS NULL)),
  CONSTRAINT access_request_approved CHECK
    ((status = 'approved') = (approval_id IS NOT NULL) AND (status = 'approved') = (approved_at IS NOT NULL)
     AND (status = 'approved') = (approved_until IS NOT NULL)),
  CONSTRAINT access_request_approval_ends CHECK (approved_until > approved_at),
  CONSTRAINT access_request_state_of_approval CHECK (approval_state IS NULL OR status = 'approved')
);
CREATE INDEX access_request_open_by_deadline ON approvals.access_request (least(expires_at, stage_ends_at))
  WHERE status = 'pending';
CREATE INDEX access_request_open_by_age ON approvals.access_request (created_at, id) WHERE status = 'pending';
CREATE INDEX access_request_decided ON approvals.access_request (ended_at, id) WHERE ended_at IS NOT NULL;

-- Whoever is away lets somebody else decide in their place, until it ends. Nothing is handed on: a vote needs a delegation by
-- the person as whose it counts. The roles are those that this person had when they delegated; `delegator_chain` is what stood behind
-- them then: their other names, and those through whom they spoke.
CREATE TABLE approvals.delegation (
  id                text PRIMARY KEY,
  delegator_issuer  text NOT NULL,
  delegator_subject text NOT NULL,
  delegator_roles   text[] NOT NULL,
  delegator_chain   text[] NOT NULL DEFAULT '{}',
  delegate_subject  text NOT NULL,
  created_at        timestamptz NOT NULL,
  until             timestamptz NOT NULL,
  revoked_at        timestamptz,
  CONSTRAINT delegation_to_another CHECK (delegate_subject <> delegator_subject),
  CONSTRAINT delegation_ends CHECK (until > created_at AND until <= created_at + interval '92 days')
);
CREATE INDEX delegation_by_delegate ON approvals.delegation (delegate_subject, until);
CREATE INDEX delegation_by_delegator ON approvals.delegation (delegator_subject, until);
CREATE INDEX delegation_by_delegator_chain ON approvals.delegation USING gin (delegator_chain);

-- What one approver said, in which stage. `counts_in` is that stage, or 0 where a person counts in one stage of the whole
-- request only: the primary key makes every person count once, whichever way they came. People are known by their subject at
-- the one issuer; the spelling of the issuer must not make two of one. `cast_by` is who spoke: the approver, or somebody
-- who stands in for them, and who likewise speaks once. `actors` are the subjects that acted for them by their token (RFC 8693): each of
-- these has spoken, too. Names are how they were displayed then, where that was known: they are for
-- records, and nothing is compared by them.
CREATE TABLE approvals.vote (
  access_request_id text NOT NULL REFERENCES approvals.access_request ON DELETE CASCADE,
  stage             integer NOT NULL,
  counts_in         integer NOT NULL,
  approver_issuer   text NOT NULL,
  approver_subject  text NOT NULL,
  approver_name     text,
  approver_roles    text[] NOT NULL,
  cast_by           text NOT NULL,
  cast_by_name      text,
  actors            text[] NOT NULL,
  delegation_id     text REFERENCES approvals.delegation,
  verdict           text NOT NULL CHECK (verdict IN ('approve','deny')),
  reason            text,
  call_digest       text NOT NULL,
  via               text NOT NULL CHECK (via IN ('inbox','api','webhook','agent','automatic')),
  at                timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (access_request_id, counts_in, approver_subject),
  CONSTRAINT vote_counts_in CHECK (counts_in IN (0, stage)),
  CONSTRAINT vote_one_voice UNIQUE (access_request_id, counts_in, cast_by),
  CONSTRAINT vote_in_whose_name CHECK ((cast_by = approver_subject) = (delegation_id IS NULL))
);

-- Approvals that did not count any more when their stage was settled: the approver had left, or was of the stage no more.
CREATE TABLE approvals.lapsed_approval (
  access_request_id text NOT NULL REFERENCES approvals.access_request ON DELETE CASCADE,
  stage             integer NOT NULL,
  approver_subject  text NOT NULL,
  PRIMARY KEY (access_request_id, stage, approver_subject)
);

-- Requests that one person granted alone, in an emergency, and who looked at that afterwards. `granted_chain` is what stood behind the grant
-- beside `granted_by`: no review comes from there.
CREATE TABLE approvals.break_glass (
  access_request_id text PRIMARY KEY REFERENCES approvals.access_request ON DELETE CASCADE,
  issuer            text NOT NULL,
  granted_by        text NOT NULL,
  granted_chain     text[] NOT NULL DEFAULT '{}',
  granted_by_name   text,
  reason            text NOT NULL CHECK (reason <> ''),
  call_digest       text NOT NULL,
  via               text NOT NULL CHECK (via IN ('inbox','api')),
  at                timestamptz NOT NULL DEFAULT clock_timestamp(),
  reviewed_by       text,
  reviewed_at       timestamptz,
  review_note       text,
  CONSTRAINT break_glass_review CHECK ((reviewed_by IS NULL) = (reviewed_at IS NULL)),
  CONSTRAINT break_glass_second_person CHECK (reviewed_by <> granted_by)
);
CREATE INDEX break_glass_unreviewed ON approvals.break_glass (at, access_request_id) WHERE reviewed_at IS NULL;

-- What there is to tell people of a request: a stage that opened, or took the place of one that was late (`escalated`), a
-- reminder, the end. The primary key has each told once. `number` counts the reminders of a stage.
CREATE TABLE approvals.notice (
  id                bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  access_request_id text NOT NULL REFERENCES approvals.access_request ON DELETE CASCADE,
  event             text NOT NULL CHECK (event IN ('opened','escalated','reminder','ended')),
  stage             integer NOT NULL,
  number            integer NOT NULL DEFAULT 1 CHECK (number >= 1),
  at                timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (access_request_id, stage, event, number),
  CONSTRAINT notice_number CHECK (number = 1 OR event = 'reminder')
);

-- Signed decisions that were looked at, with what came of them. The primary key stops a replay for ever.
CREATE TABLE approvals.decision_webhook_inbox (
  source      text NOT NULL,
  webhook_id  text NOT NULL,
  body_digest text NOT NULL,
  outcome     text,
  received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (source, webhook_id)
);

CREATE TABLE approvals.outbox (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind          text NOT NULL CHECK (kind IN ('callback','notification','wake')),
  subject_id    text NOT NULL,
  urgency       smallint NOT NULL DEFAULT 0,
  available_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts      integer NOT NULL DEFAULT 0
);
CREATE INDEX outbox_due ON approvals.outbox (urgency, available_at, id);

-- Who is signed in: written once, at the sign-in, and deleted at the end. The last three columns are what the issuer said of the person
-- when it was last asked, and, sealed, with what it is asked again. A session without them is over.
CREATE TABLE approvals.session (
  sid      varchar PRIMARY KEY,
  sess     json NOT NULL,
  expire   timestamp(6) NOT NULL,
  roles    text[] NOT NULL DEFAULT '{}',
  proof    text,
  asked_at timestamptz
);
CREATE INDEX session_expire ON approvals.session (expire);
CREATE INDEX session_subject ON approvals.session ((sess->'person'->>'subject'));
CREATE TABLE audit.session (
  sid      varchar PRIMARY KEY,
  sess     json NOT NULL,
  expire   timestamp(6) NOT NULL,
  roles    text[] NOT NULL DEFAULT '{}',
  proof    text,
  asked_at timestamptz
);
CREATE INDEX session_expire ON audit.session (expire);
CREATE INDEX session_subject ON audit.session ((sess->'person'->>'subject'));

-- What was asked never changes; a request that has ended never changes but for the signature that is made once, and for
-- its key, which is forgotten.
CREATE FUNCTION approvals.guard_access_request() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE v_kept text[] := ARRAY['status','stage','stage_opened_at','stage_ends_at','ended_at','end_note','approval_id','approved_at',
  'approved_until','approval_state'];
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
CREATE TRIGGER access_request_guard BEFORE UPDATE ON approvals.access_request
  FOR EACH ROW EXECUTE FUNCTION approvals.guard_access_request();

-- Rows go with the access request that they are about, and only with it: it is gone by the time that they follow.
CREATE FUNCTION approvals.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT FROM approvals.access_request WHERE id = OLD.access_request_id) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'CS002';
END $$;
CREATE TRIGGER notice_immutable BEFORE UPDATE OR DELETE ON approvals.notice
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();
CREATE TRIGGER vote_immutable BEFORE UPDATE OR DELETE ON approvals.vote
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();
CREATE TRIGGER lapsed_approval_immutable BEFORE UPDATE OR DELETE ON approvals.lapsed_approval
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();

-- A delegation is ended, once, and changed in no other way: whose voice a vote was stays to be read.
CREATE FUNCTION approvals.guard_delegation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR to_jsonb(NEW) - 'revoked_at' <> to_jsonb(OLD) - 'revoked_at' OR OLD.revoked_at IS NOT NULL THEN
    RAISE EXCEPTION 'delegation % cannot change', OLD.id USING ERRCODE = 'CS002';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER delegation_guard BEFORE UPDATE OR DELETE ON approvals.delegation
  FOR EACH ROW EXECUTE FUNCTION approvals.guard_delegation();

-- A review is added once; what was done and why stays.
CREATE FUNCTION approvals.guard_break_glass() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE v_added text[] := ARRAY['reviewed_by','reviewed_at','review_note'];
BEGIN
  IF to_jsonb(NEW) - v_added <> to_jsonb(OLD) - v_added OR OLD.reviewed_at IS NOT NULL THEN
    RAISE EXCEPTION 'the emergency grant of % cannot change', OLD.access_request_id USING ERRCODE = 'CS002';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER break_glass_guard BEFORE UPDATE ON approvals.break_glass
  FOR EACH ROW EXECUTE FUNCTION approvals.guard_break_glass();
CREATE TRIGGER break_glass_kept BEFORE DELETE ON approvals.break_glass
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();

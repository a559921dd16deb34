-- Enforcement side: gated calls, their fences and their records.
-- State changes go through functions (prisma/functions): they lock the row first, then update it under conditions read with
-- clock_timestamp(), so that no time passes unseen between the check and the change.
--
-- Every statement reads as many rows as it needs, however many calls are open and whatever the statistics say. The
-- planner may use a partial index for each statement whose conditions imply that of the index, and statistics taken in a
-- quiet minute say that such an index is empty, so reading all of it looks as cheap as one lookup by key. Hence each
-- partial index has a condition that only the statements it is for can meet, functions look rows up by key and check the
-- rest afterwards, and times are compared with now() (fixed for a statement) where an index is to be used.
CREATE SCHEMA IF NOT EXISTS gateway;

-- How a gated call may go from state to state. `is_end`: the state it comes to is an end. `guard_gated_call` holds every row to this table.
CREATE TABLE gateway.transition (
  from_state text NOT NULL,
  to_state   text NOT NULL,
  is_end     boolean NOT NULL,
  PRIMARY KEY (from_state, to_state)
);
CREATE INDEX transition_to_end ON gateway.transition (to_state) WHERE is_end;
INSERT INTO gateway.transition (from_state, to_state, is_end) VALUES
  ('preparing', 'pending', false),
  ('preparing', 'denied', true), ('preparing', 'cancelled', true), ('preparing', 'failed', true),
  ('pending', 'granted', false),
  ('pending', 'denied', true), ('pending', 'cancelled', true), ('pending', 'failed', true),
  ('input_required', 'granted', false),
  ('input_required', 'denied', true), ('input_required', 'cancelled', true), ('input_required', 'failed', true),
  ('granted', 'pending', false), ('granted', 'input_required', false), ('granted', 'claimed', false),
  ('granted', 'denied', true), ('granted', 'cancelled', true), ('granted', 'failed', true),
  ('claimed', 'executed', true), ('claimed', 'execution_error', true), ('claimed', 'outcome_unknown', true);

CREATE TABLE gateway.gated_call (
  id                  uuid PRIMARY KEY,
  task_id             text NOT NULL UNIQUE,
  -- Whose it is (`owner_key`), and which subject asked (`subject_key`), whichever client that acted through: quotas count both.
  subject_key         text NOT NULL,
  owner_key           text NOT NULL,
  dedup_key           text NOT NULL,
  state               text NOT NULL,
  state_version       integer NOT NULL DEFAULT 1,
  generation          integer NOT NULL DEFAULT 1,
  reason              text,
  claim_id            uuid,
  -- W3C trace id of the request that opened the call, by which the log lines of all processes are found together.
  trace_id            text NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', '') CHECK (trace_id ~ '^[0-9a-f]{32}$'),
  -- Whether the request that opened the call declared that its client can hold a task and show forms.
  takes_input         boolean NOT NULL DEFAULT false,
  request_deadline    timestamptz NOT NULL,
  -- Ours; `request_deadline` is earlier when the access request service gives the current request less time.
  latest_deadline     timestamptz NOT NULL,
  approval_expires_at timestamptz,
  execution_deadline  timestamptz,
  ended_at            timestamptz,
  -- When its owner was told how a call that was claimed has ended; and, if it was in answer to an identical call, the id that this one came under.
  read_at             timestamptz,
  read_by             uuid,
  retain_until        timestamptz NOT NULL,
  created_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_updated_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The deadline of the present state; none once the call has ended.
  due_at              timestamptz GENERATED ALWAYS AS (
    CASE WHEN ended_at IS NOT NULL THEN NULL
      WHEN state = 'claimed' THEN execution_deadline
      WHEN state IN ('granted','input_required') THEN least(request_deadline, approval_expires_at)
      ELSE request_deadline END) STORED,
  -- When the access request service is asked, while a resolution is awaited, whether there is one of which no word came.
  poll_at             timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- What an ended call consisted of is forgotten when its retention is over. Its outcome record, and what proves it, stays.
  forgotten_at        timestamptz,
  CONSTRAINT gated_call_state_known CHECK (state IN ('preparing','pending','input_required','granted','claimed',
    'executed','execution_error','outcome_unknown','denied','cancelled','failed')),
  CONSTRAINT gated_call_unclaimed CHECK (state NOT IN ('denied','cancelled','failed') OR claim_id IS NULL),
  CONSTRAINT gated_call_claimed CHECK
    (state NOT IN ('claimed','executed','execution_error','outcome_unknown') OR claim_id IS NOT NULL),
  -- Nobody is asked who did not say that this can be answered.
  CONSTRAINT gated_call_asked CHECK (state <> 'input_required' OR takes_input),
  CONSTRAINT gated_call_read CHECK (read_at IS NULL OR (claim_id IS NOT NULL AND ended_at IS NOT NULL))
);
-- One open gated call per owner, tool and arguments: an identical call joins it. An owner is one subject, so the subject in front changes
-- nothing about that, and lets its open calls be counted.
CREATE UNIQUE INDEX gated_call_open ON gateway.gated_call (subject_key, owner_key, dedup_key) WHERE ended_at IS NULL;
CREATE INDEX gated_call_due ON gateway.gated_call (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX gated_call_poll ON gateway.gated_call (poll_at) WHERE state = 'pending';
-- What an identical call is answered with; and what an owner has asked for lately.
CREATE INDEX gated_call_ended_alike ON gateway.gated_call (owner_key, dedup_key, ended_at) WHERE claim_id IS NOT NULL AND ended_at IS NOT NULL;
CREATE INDEX gated_call_by_owner ON gateway.gated_call (owner_key, created_at);
CREATE INDEX gated_call_preparing ON gateway.gated_call (created_at) WHERE state = 'preparing';
CREATE INDEX gated_call_forgettable ON gateway.gated_call (retain_until) WHERE ended_at IS NOT NULL AND forgotten_at IS NULL;

-- Columns called sealed hold AES-256-GCM ciphertexts under a data key of the call, as base64url, authenticated together with
-- the column and the call they were made for. The data keys lie here, wrapped by the key `key_id` of the configuration. `call_key` is for what is
-- forgotten when retention ends, and is destroyed then; `record_key` is for what auditors may read afterwards.
-- Digests and keys for look-up are keyed (HMAC): they tell nothing to those who only have the database.
CREATE TABLE gateway.data_key (
  gated_call_id uuid PRIMARY KEY REFERENCES gateway.gated_call,
  key_id        text NOT NULL,
  call_key      text,
  record_key    text NOT NULL
);
CREATE INDEX data_key_by_key ON gateway.data_key (key_id);

CREATE TABLE gateway.call_binding (
  gated_call_id    uuid PRIMARY KEY REFERENCES gateway.gated_call,
  tool             text NOT NULL,
  upstream         text NOT NULL,
  upstream_tool    text NOT NULL,
  call_digest      text NOT NULL,
  tool_digest      text NOT NULL,
  requester_key    text NOT NULL,
  sealed_content   text NOT NULL,
  sealed_requester text NOT NULL
);
CREATE INDEX call_binding_by_digest ON gateway.call_binding (call_digest);

CREATE TABLE gateway.submission (
  id                uuid PRIMARY KEY,
  gated_call_id     uuid NOT NULL REFERENCES gateway.gated_call,
  generation        integer NOT NULL,
  idempotency_key   text NOT NULL UNIQUE,
  endpoint          text NOT NULL,
  sealed_body       text NOT NULL,
  lease_until       timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Keyed digest of the access request's id, for callbacks.
  access_request_key text,
  sealed_handle     text,
  -- Who resolved the access request, and how, as its service states it. Kept for the record; nothing rests on it.
  sealed_statement  text,
  created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (gated_call_id, generation)
);
CREATE INDEX submission_by_access_request ON gateway.submission (access_request_key) WHERE access_request_key IS NOT NULL;

CREATE TABLE gateway.decision (
  id            uuid PRIMARY KEY,
  gated_call_id uuid NOT NULL REFERENCES gateway.gated_call,
  generation    integer NOT NULL,
  kind          text NOT NULL CHECK (kind IN ('requestable','allow','deny','retry')),
  reason        text,
  evaluation_id text,
  call_digest   text NOT NULL,
  -- What the answer obliged to, and what became of each; null where it obliged to nothing.
  obligations   jsonb,
  -- Until when use may be made of what it allows, where it says so.
  approved_until timestamptz,
  -- What it rests on, where the decision point says so: the version of the policies, and those that determined it.
  policy_version text,
  policies      text[],
  evaluated_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX decision_by_gated_call ON gateway.decision (gated_call_id);
-- Auditors look records up by the policy decision point's own name of an evaluation.
CREATE INDEX decision_by_evaluation ON gateway.decision (evaluation_id);

CREATE TABLE gateway.approval (
  gated_call_id    uuid NOT NULL REFERENCES gateway.gated_call,
  generation       integer NOT NULL,
  -- Keyed digest of the approval's id: one approval is of use once.
  approval_key     text NOT NULL UNIQUE,
  -- Not every access request service says it.
  approved_at      timestamptz,
  approved_until   timestamptz NOT NULL,
  sealed_body      text NOT NULL,
  sealed_reference text NOT NULL,
  PRIMARY KEY (gated_call_id, generation)
);

-- What the requester is asked within the task, because a further access request needs it: a form each. Those of one instant
-- are one round. Its key is random and stands for no other question, here or in another task.
CREATE TABLE gateway.question (
  key           text PRIMARY KEY,
  gated_call_id uuid NOT NULL REFERENCES gateway.gated_call,
  -- The one whose approval was not enough.
  generation    integer NOT NULL,
  -- Keyed digest of everything that the access request needs: the answers count for nothing else.
  form_digest   text NOT NULL,
  sealed_form   text NOT NULL,
  asked_at      timestamptz NOT NULL,
  sealed_answer text,
  answered_at   timestamptz,
  CONSTRAINT question_answered CHECK ((sealed_answer IS NULL) = (answered_at IS NULL))
);
CREATE INDEX question_by_gated_call ON gateway.question (gated_call_id);

CREATE TABLE gateway.execution_claim (
  gated_call_id uuid PRIMARY KEY REFERENCES gateway.gated_call,
  claim_id      uuid NOT NULL UNIQUE,
  generation    integer NOT NULL,
  decision_id   uuid NOT NULL UNIQUE REFERENCES gateway.decision,
  claimed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- In order: how many there were tells which of two copies of the database is the older one.
  number        bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  -- The server's, when it was made; null where the server does not tell it.
  timeline      integer
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
  sealed_result text NOT NULL,
  result_digest text NOT NULL,
  recorded_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A result that came after the call had been settled without it, as unknown or by what a probe said. Kept for auditors;
-- it changes no status.
CREATE TABLE gateway.late_evidence (
  gated_call_id uuid PRIMARY KEY REFERENCES gateway.invocation,
  is_error      boolean NOT NULL,
  sealed_result text NOT NULL,
  result_digest text NOT NULL,
  recorded_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One row. `number` counts the times that committed rows may have been lost (a restore, a failover to a server that was
-- behind). While it is frozen nothing is claimed, no permit is given, and no open call ends.
CREATE TABLE gateway.epoch (
  only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  number       integer NOT NULL DEFAULT 1,
  frozen       boolean NOT NULL DEFAULT false,
  -- Why it is frozen.
  found        text CHECK (found IN ('reconciling','engine_ahead','call_ran','no_witness')),
  -- The same in every copy of this database, and another one in a database that was migrated anew.
  installation uuid NOT NULL DEFAULT gen_random_uuid(),
  -- The server's, when a worker last held the database against the engine. A recovery to a point in time and a failover begin another one.
  timeline     integer,
  CHECK (NOT frozen OR found IS NOT NULL)
);
-- A block that handles an error writes under a transaction number of its own: so the transaction of the next migration is no
-- neighbour of this one. SAVEPOINT would do the same, but Prisma's engine sends this file without BEGIN.
DO $$
BEGIN
  INSERT INTO gateway.epoch DEFAULT VALUES;
EXCEPTION WHEN unique_violation THEN RAISE;
END $$;

-- Each row names the transaction and the database that wrote it. PostgreSQL keeps with every row which transaction did, and
-- freezing, vacuum, pg_upgrade and a failover leave that as it is. A load of rows from elsewhere (pg_restore, COPY, logical
-- replication, a database made from a template) writes them in another transaction or another database. There are two rows,
-- of transactions that are no neighbours: in a server that was set up the same way, one row could be loaded by the transaction
-- of the same number. Two migrations write them.
CREATE TABLE gateway.fence (
  place      smallint PRIMARY KEY CHECK (place IN (1, 2)),
  stamped_by xid8 NOT NULL,
  database   oid NOT NULL
);
INSERT INTO gateway.fence (place, stamped_by, database)
  SELECT 1, pg_current_xact_id(), oid FROM pg_database WHERE datname = current_database();

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
  requester_key text NOT NULL,
  body          text NOT NULL,
  digest        text NOT NULL,
  recorded_at   timestamptz NOT NULL
);
CREATE INDEX outcome_record_by_call ON gateway.outcome_record (call_digest);
CREATE INDEX outcome_record_by_time ON gateway.outcome_record (recorded_at DESC, outcome_ref DESC);

-- What is to be done outside. A row that has been handled is deleted.
CREATE TABLE gateway.outbox (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind          text NOT NULL CHECK (kind IN ('start_workflow','signal_workflow','cancel_access_request','deliver_obligation')),
  subject_id    text NOT NULL,
  urgency       smallint NOT NULL DEFAULT 0,
  available_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts      integer NOT NULL DEFAULT 0
);
CREATE INDEX outbox_due ON gateway.outbox (urgency, available_at, id);

-- Signed callbacks that were accepted. The primary key stops a replay.
CREATE TABLE gateway.callback_inbox (
  webhook_id  text PRIMARY KEY,
  body_digest text NOT NULL,
  received_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A gated call as its owner may see it.
CREATE VIEW gateway.task AS
  SELECT g.id, g.task_id, g.owner_key, g.state, g.reason, b.tool, g.created_at, g.last_updated_at, g.retain_until, g.ended_at,
    r.sealed_result, k.call_key, o.outcome_ref, coalesce(g.due_at <= clock_timestamp(), false) AS due,
    g.claim_id IS NOT NULL AND g.ended_at IS NOT NULL AND g.read_at IS NULL AS unread,
    CASE WHEN g.state = 'input_required' THEN
      (SELECT jsonb_agg(jsonb_build_object('key', q.key, 'sealedForm', q.sealed_form) ORDER BY q.key)
        FROM gateway.question q WHERE q.gated_call_id = g.id AND q.answered_at IS NULL) END AS questions
  FROM gateway.gated_call g
  JOIN gateway.call_binding b ON b.gated_call_id = g.id
  JOIN gateway.data_key k ON k.gated_call_id = g.id
  LEFT JOIN gateway.call_result r ON r.gated_call_id = g.id
  LEFT JOIN gateway.outcome_record o ON o.gated_call_id = g.id;

-- Answers that a client brings count once: the state that comes back with them has a nonce, which is redeemed in the
-- transaction that opens the gated call.
CREATE TABLE gateway.redeemed_state (
  nonce         text PRIMARY KEY,
  expires_at    timestamptz NOT NULL,
  -- Set before the commit.
  gated_call_id uuid REFERENCES gateway.gated_call
);
CREATE INDEX redeemed_state_by_expiry ON gateway.redeemed_state (expires_at);

-- The signature: everything that may be listed and used, as it was described when it was accepted. `name` is its public
-- name, `definition` what its upstream says of it as canonical JSON (RFC 8785), `digest` that of exactly these bytes.
CREATE TABLE gateway.pin (
  kind          text NOT NULL,
  name          text NOT NULL,
  upstream      text NOT NULL,
  upstream_name text NOT NULL,
  definition    text NOT NULL,
  digest        text NOT NULL,
  pinned_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (kind, name),
  CONSTRAINT pin_kind CHECK (kind IN ('tool','prompt','resource','resource_template')),
  CONSTRAINT pin_digest CHECK (digest = 'sha-256:' || encode(sha256(convert_to(definition, 'UTF8')), 'hex'))
);

-- Obligations of denials, which are carried out though nothing is permitted, once for each evaluation and obligation (the id is
-- made of both). `sealed_message` goes when the obligation was taken or given up; the row stays for a week, for repetitions.
CREATE TABLE gateway.obligation (
  id             text PRIMARY KEY,
  -- The data key of the message, wrapped by a key of the configuration.
  message_key    text,
  sealed_message text,
  added_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT obligation_message CHECK ((message_key IS NULL) = (sealed_message IS NULL))
);
CREATE INDEX obligation_by_time ON gateway.obligation (added_at) WHERE sealed_message IS NULL;

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
-- `stage_opened_at`, `stage_ends_at` and `remind_at` are of the one that is open; it may have no deadline and no reminder left. `parties` are the subjects that
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
  remind_at               timestamptz,
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
CREATE INDEX access_request_open_by_due ON approvals.access_request (least(expires_at, stage_ends_at, remind_at))
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
  CONSTRAINT vote_in_whose_name CHECK ((cast_by = approver_subject) = (delegation_id IS NULL)),
  -- Nobody who signs in bears the name of a resolver, and a resolver votes in its own name alone.
  CONSTRAINT vote_automatic CHECK
    ((via = 'automatic') = starts_with(approver_subject, 'automatic:') AND (via <> 'automatic' OR cast_by = approver_subject))
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
  kind          text NOT NULL CHECK (kind IN ('callback','notification')),
  subject_id    text NOT NULL,
  urgency       smallint NOT NULL DEFAULT 0,
  available_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts      integer NOT NULL DEFAULT 0
);
CREATE INDEX outbox_due ON approvals.outbox (urgency, available_at, id);

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

-- What automatic resolvers answered. Each is asked once for a stage: the primary key keeps a second answer out, which a step
-- that was repeated after a crash may bring. `failed`: there was none that could be understood. `outcome` is what became of it.
CREATE TABLE approvals.resolver_answer (
  access_request_id text NOT NULL REFERENCES approvals.access_request ON DELETE CASCADE,
  stage             integer NOT NULL,
  resolver          text NOT NULL,
  verdict           text NOT NULL CHECK (verdict IN ('approve','deny','abstain','failed')),
  reason            text,
  call_digest       text NOT NULL,
  outcome           text NOT NULL,
  at                timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (access_request_id, stage)
);

-- Approvals that were taken back. The request stays approved, as ends never change; what an approval is still good for is
-- the PDP's to decide, and it asks for these.
CREATE TABLE approvals.revocation (
  access_request_id text PRIMARY KEY REFERENCES approvals.access_request ON DELETE CASCADE,
  by_issuer         text NOT NULL,
  by_subject        text NOT NULL,
  reason            text,
  via               text NOT NULL CHECK (via IN ('inbox','api')),
  at                timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Authority side: what the policy decision point put on record.
CREATE SCHEMA IF NOT EXISTS pdp;

-- One row for each requestable denial, written before the denial is answered. Arguments are not kept: the hash over
-- what was bound proves which request it was, and the access request holds what approvers see.
CREATE TABLE pdp.evaluation (
  evaluation_id           text PRIMARY KEY,
  token_id                uuid NOT NULL UNIQUE,
  requester               text NOT NULL,
  subject                 jsonb NOT NULL,
  action                  jsonb NOT NULL,
  resource                jsonb NOT NULL,
  binding_context_members text[] NOT NULL,
  binding_hash            text NOT NULL,
  template                text NOT NULL,
  reason                  text NOT NULL,
  policies                text[] NOT NULL,
  policy_version          text NOT NULL,
  evaluated_at            timestamptz NOT NULL,
  expires_at              timestamptz NOT NULL,
  -- A denial can be answered with a submission for ten minutes at most.
  CONSTRAINT evaluation_window CHECK (expires_at > evaluated_at AND expires_at <= evaluated_at + interval '10 minutes')
);
CREATE INDEX evaluation_by_time ON pdp.evaluation (evaluated_at);

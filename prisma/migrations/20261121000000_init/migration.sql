-- Enforcement side: gated calls, their fences and their records. State changes go through functions (prisma/functions): they lock
-- the row first, then update it under conditions read with clock_timestamp(), so that no time passes unseen between the check and
-- the change.
--
-- Every statement reads only the rows it needs, however many calls are open and whichever statistics exist. The planner may use a
-- partial index for each statement whose conditions imply that of the index. Statistics taken in a quiet minute say that such an
-- index is empty, so reading all of it looks as cheap as one lookup by key. So each partial index has a condition that only its
-- own statements can meet. Functions look rows up by key and check the rest afterwards. Times are compared with now() (fixed for
-- a statement) where an index must be used.
CREATE SCHEMA IF NOT EXISTS gateway;

-- The transitions of a gated call. `is_end`: the target state is an end. `guard_gated_call` checks every row against this table.
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
  -- Only before the permit to send: `release_claim`.
  ('claimed', 'granted', false),
  ('claimed', 'executed', true), ('claimed', 'execution_error', true), ('claimed', 'outcome_unknown', true);

CREATE TABLE gateway.gated_call (
  id                  uuid PRIMARY KEY,
  task_id             text NOT NULL UNIQUE,
  -- `owner_key` is the owner. `subject_key` is the subject that asked, whichever client it acted through. Quotas count both.
  subject_key         text NOT NULL,
  owner_key           text NOT NULL,
  dedup_key           text NOT NULL,
  state               text NOT NULL,
  state_version       integer NOT NULL DEFAULT 1,
  generation          integer NOT NULL DEFAULT 1,
  reason              text,
  claim_id            uuid,
  -- W3C trace id of the request that opened the call. It connects the log lines of all processes.
  trace_id            text NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', '') CHECK (trace_id ~ '^[0-9a-f]{32}$'),
  -- Whether the request that opened the call declared that its client can hold a task and show forms.
  takes_input         boolean NOT NULL DEFAULT false,
  -- How long each access request of the call waits for a resolution, in milliseconds.
  request_ttl_ms      bigint NOT NULL,
  -- The end of that wait for the current request; earlier if the access request service gives the request less time. A grant ends
  -- this clock: from then on `approval_expires_at` alone counts.
  request_deadline    timestamptz NOT NULL,
  approval_expires_at timestamptz,
  execution_deadline  timestamptz,
  ended_at            timestamptz,
  -- When the owner was told how a claimed call ended. If an identical call was answered with this end, `read_by` is the id of
  -- that call.
  read_at             timestamptz,
  read_by             uuid,
  -- When the client of a task answered the question to open the page of the call. The question has one key, so it is asked once.
  page_answered_at    timestamptz,
  retain_until        timestamptz NOT NULL,
  created_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_updated_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The deadline of the present state, or NULL once the call has ended.
  due_at              timestamptz GENERATED ALWAYS AS (
    CASE WHEN ended_at IS NOT NULL THEN NULL
      WHEN state = 'claimed' THEN execution_deadline
      WHEN state IN ('granted','input_required') THEN approval_expires_at
      ELSE request_deadline END) STORED,
  -- While a call waits for a resolution: when to ask the access request service whether a resolution exists that it did not
  -- report.
  poll_at             timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When the content of an ended call was forgotten, after its retention. Its outcome record, and the rows that prove it, stay.
  forgotten_at        timestamptz,
  CONSTRAINT gated_call_state_known CHECK (state IN ('preparing','pending','input_required','granted','claimed',
    'executed','execution_error','outcome_unknown','denied','cancelled','failed')),
  CONSTRAINT gated_call_unclaimed CHECK (state NOT IN ('denied','cancelled','failed') OR claim_id IS NULL),
  CONSTRAINT gated_call_claimed CHECK
    (state NOT IN ('claimed','executed','execution_error','outcome_unknown') OR claim_id IS NOT NULL),
  -- A client is asked only if it declared that it can answer.
  CONSTRAINT gated_call_asked CHECK (state <> 'input_required' OR takes_input),
  CONSTRAINT gated_call_read CHECK (read_at IS NULL OR (claim_id IS NOT NULL AND ended_at IS NOT NULL))
);
-- One open gated call per owner, tool and arguments: an identical call joins it. An owner is one subject. So the leading subject
-- column changes nothing about that, and allows the subject's open calls to be counted.
CREATE UNIQUE INDEX gated_call_open ON gateway.gated_call (subject_key, owner_key, dedup_key) WHERE ended_at IS NULL;
CREATE INDEX gated_call_due ON gateway.gated_call (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX gated_call_poll ON gateway.gated_call (poll_at) WHERE state = 'pending';
-- For the outcome that answers an identical call, and for the newest requests of an owner.
CREATE INDEX gated_call_ended_alike ON gateway.gated_call (owner_key, dedup_key, ended_at) WHERE claim_id IS NOT NULL AND ended_at IS NOT NULL;
CREATE INDEX gated_call_by_owner ON gateway.gated_call (owner_key, created_at);
CREATE INDEX gated_call_preparing ON gateway.gated_call (created_at) WHERE state = 'preparing';
CREATE INDEX gated_call_forgettable ON gateway.gated_call (retain_until) WHERE ended_at IS NOT NULL AND forgotten_at IS NULL;

-- Columns called sealed hold AES-256-GCM ciphertexts under a data key of the call, as base64url. They are authenticated together
-- with their column and their call. The data keys are in this table, wrapped by the key `key_id` of the configuration. `call_key`
-- seals what is forgotten when retention ends, and is destroyed then. `record_key` seals what auditors may read afterwards.
-- Digests and keys for look-up are keyed (HMAC): they tell nothing to a reader of the database alone.
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
  -- Who resolved the access request, and how, as its service states it. It is kept for the record, and no state rests on it.
  sealed_statement  text,
  created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (gated_call_id, generation)
);
CREATE INDEX submission_by_access_request ON gateway.submission (access_request_key) WHERE access_request_key IS NOT NULL;

-- What the server of the tool said would happen, as it was shown to approvers: when, and its digest. A preview is no invocation,
-- and no state rests on it.
CREATE TABLE gateway.preview (
  gated_call_id  uuid NOT NULL REFERENCES gateway.gated_call,
  -- The first is taken at the opening, and each further one when an approver asks for it.
  number         integer NOT NULL CHECK (number BETWEEN 1 AND 50),
  sealed_preview text NOT NULL,
  PRIMARY KEY (gated_call_id, number)
);

CREATE TABLE gateway.decision (
  id            uuid PRIMARY KEY,
  gated_call_id uuid NOT NULL REFERENCES gateway.gated_call,
  generation    integer NOT NULL,
  kind          text NOT NULL CHECK (kind IN ('requestable','allow','deny','retry')),
  reason        text,
  evaluation_id text,
  call_digest   text NOT NULL,
  -- The obligations of the answer, and how each ended. NULL if the answer had no obligations.
  obligations   jsonb,
  -- Until when the permission may be used, if the answer says so.
  approved_until timestamptz,
  -- The basis of the decision, if the decision point names it: the version of the policies, and the policies that determined it.
  policy_version text,
  policies      text[],
  evaluated_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX decision_by_gated_call ON gateway.decision (gated_call_id);
-- Auditors look up records by the policy decision point's own id of an evaluation.
CREATE INDEX decision_by_evaluation ON gateway.decision (evaluation_id);

CREATE TABLE gateway.approval (
  gated_call_id    uuid NOT NULL REFERENCES gateway.gated_call,
  generation       integer NOT NULL,
  -- Keyed digest of the approval's id: an approval can be used once.
  approval_key     text NOT NULL UNIQUE,
  -- NULL if the access request service does not say it.
  approved_at      timestamptz,
  approved_until   timestamptz NOT NULL,
  sealed_body      text NOT NULL,
  sealed_reference text NOT NULL,
  PRIMARY KEY (gated_call_id, generation)
);

-- Questions to the requester within the task, for a further access request. Each is one form, and those of one instant are one
-- round. The key is random and stands for no other question, here or in another task.
CREATE TABLE gateway.question (
  key           text PRIMARY KEY,
  gated_call_id uuid NOT NULL REFERENCES gateway.gated_call,
  -- The generation whose approval was not enough.
  generation    integer NOT NULL,
  -- Keyed digest of all input that the access request needs: the answers count for nothing else.
  form_digest   text NOT NULL,
  sealed_form   text NOT NULL,
  asked_at      timestamptz NOT NULL,
  -- How many questions before it got answers that do not count, and were asked again so.
  refusals      integer NOT NULL DEFAULT 0,
  sealed_answer text,
  answered_at   timestamptz,
  CONSTRAINT question_answered CHECK ((sealed_answer IS NULL) = (answered_at IS NULL))
);
CREATE INDEX question_by_gated_call ON gateway.question (gated_call_id);

CREATE TABLE gateway.execution_claim (
  claim_id      uuid PRIMARY KEY,
  gated_call_id uuid NOT NULL REFERENCES gateway.gated_call,
  generation    integer NOT NULL,
  decision_id   uuid NOT NULL UNIQUE REFERENCES gateway.decision,
  claimed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Claims are numbered in order. Of two copies of the database, the one with the lower number is older.
  number        bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  -- The server's timeline when the claim was made, or NULL if the server does not tell it.
  timeline      integer,
  -- When the claim was given up. Its permit to send was not given by then, and cannot be given any more.
  released_at   timestamptz
);
CREATE UNIQUE INDEX execution_claim_live ON gateway.execution_claim (gated_call_id) WHERE released_at IS NULL;
CREATE INDEX execution_claim_by_call ON gateway.execution_claim (gated_call_id);

-- The permit to send. Its primary key makes a second execution impossible, whichever steps the engine repeats.
CREATE TABLE gateway.invocation (
  gated_call_id uuid PRIMARY KEY REFERENCES gateway.gated_call,
  claim_id      uuid NOT NULL UNIQUE REFERENCES gateway.execution_claim,
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

-- A result that came after the call had been settled without it, as unknown or by a probe. It is kept for auditors, and changes
-- no status.
CREATE TABLE gateway.late_evidence (
  gated_call_id uuid PRIMARY KEY REFERENCES gateway.invocation,
  is_error      boolean NOT NULL,
  sealed_result text NOT NULL,
  result_digest text NOT NULL,
  recorded_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One row. `number` counts the times that committed rows may have been lost (a restore, a failover to a server that was behind).
-- While the epoch is frozen no call is claimed, no permit is given, and no open call ends.
CREATE TABLE gateway.epoch (
  only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  number       integer NOT NULL DEFAULT 1,
  frozen       boolean NOT NULL DEFAULT false,
  -- Why it is frozen.
  found        text CHECK (found IN ('reconciling','engine_ahead','call_ran','no_witness')),
  -- The same in every copy of this database, and different in a database that was migrated separately.
  installation uuid NOT NULL DEFAULT gen_random_uuid(),
  -- The server's timeline when a worker last compared the database with the engine. A recovery to a point in time and a failover
  -- begin another timeline.
  timeline     integer,
  CHECK (NOT frozen OR found IS NOT NULL)
);
-- A block that handles an error writes under a transaction number of its own. So the transaction of the next migration is not a
-- neighbour of this one. SAVEPOINT would do the same, but Prisma's engine sends this file without BEGIN.
DO $$
BEGIN
  INSERT INTO gateway.epoch DEFAULT VALUES;
EXCEPTION WHEN unique_violation THEN RAISE;
END $$;

-- Each row names the transaction and the database that wrote it. PostgreSQL keeps with every row which transaction wrote it.
-- Freezing, vacuum, pg_upgrade and a failover do not change that. A load of rows from elsewhere (pg_restore, COPY, logical
-- replication, a database made from a template) writes them in another transaction or another database. There are two rows, from
-- transactions that are not neighbours. In a server that was set up the same way, a transaction of the same number could load one
-- row. Two migrations write them.
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

-- `body` is the record as text. `digest` is the SHA-256 of exactly these bytes.
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

-- Work for outside the database, that of a lower `urgency` first. A row is deleted once it has been handled.
CREATE TABLE gateway.outbox (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind          text NOT NULL CHECK (kind IN ('start_workflow','signal_workflow','cancel_access_request','deliver_obligation')),
  subject_id    text NOT NULL,
  urgency       smallint NOT NULL DEFAULT 0,
  available_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts      integer NOT NULL DEFAULT 0
);
CREATE INDEX outbox_due ON gateway.outbox (urgency, available_at, id);

-- Accepted signed callbacks. The primary key stops a replay.
CREATE TABLE gateway.callback_inbox (
  webhook_id  text PRIMARY KEY,
  body_digest text NOT NULL,
  received_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A gated call as its owner may see it.
CREATE VIEW gateway.task AS
  SELECT g.id, g.task_id, g.owner_key, g.state, g.reason, b.tool, g.created_at,
    greatest(g.last_updated_at, g.page_answered_at) AS last_updated_at, g.retain_until, g.ended_at,
    CASE WHEN g.state IN ('pending','input_required') THEN g.due_at END AS decide_by, g.generation,
    CASE WHEN g.state = 'pending' THEN s.sealed_handle END AS sealed_handle,
    CASE WHEN g.ended_at IS NOT NULL THEN s.sealed_statement END AS sealed_statement,
    r.sealed_result, k.call_key, k.record_key, o.outcome_ref, coalesce(g.due_at <= clock_timestamp(), false) AS due,
    g.claim_id IS NOT NULL AND g.ended_at IS NOT NULL AND g.read_at IS NULL AS unread,
    g.page_answered_at IS NOT NULL AS page_answered,
    (extract(epoch FROM clock_timestamp() - g.last_updated_at) * 1000)::float8 AS in_state_ms,
    CASE WHEN g.state = 'input_required' THEN
      (SELECT jsonb_agg(jsonb_build_object('key', q.key, 'sealedForm', q.sealed_form) ORDER BY q.key)
        FROM gateway.question q WHERE q.gated_call_id = g.id AND q.answered_at IS NULL) END AS questions
  FROM gateway.gated_call g
  JOIN gateway.call_binding b ON b.gated_call_id = g.id
  JOIN gateway.data_key k ON k.gated_call_id = g.id
  JOIN gateway.submission s ON s.gated_call_id = g.id AND s.generation = g.generation
  LEFT JOIN gateway.call_result r ON r.gated_call_id = g.id
  LEFT JOIN gateway.outcome_record o ON o.gated_call_id = g.id;

-- Answers of a client count once: the state that comes back with them has a nonce, which is redeemed in the transaction that
-- opens or joins the gated call.
CREATE TABLE gateway.redeemed_state (
  nonce         text PRIMARY KEY,
  expires_at    timestamptz NOT NULL,
  -- Set before the commit.
  gated_call_id uuid REFERENCES gateway.gated_call
);
CREATE INDEX redeemed_state_by_expiry ON gateway.redeemed_state (expires_at);

-- The signature: everything that may be listed and used, as it was described when it was accepted. `name` is its public name.
-- `definition` is its upstream's description as canonical JSON (RFC 8785), and `digest` is that of exactly these bytes.
CREATE TABLE gateway.accepted_description (
  kind          text NOT NULL,
  name          text NOT NULL,
  upstream      text NOT NULL,
  upstream_name text NOT NULL,
  definition    text NOT NULL,
  digest        text NOT NULL,
  accepted_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (kind, name),
  CONSTRAINT accepted_description_kind CHECK (kind IN ('tool','prompt','resource','resource_template')),
  CONSTRAINT accepted_description_digest CHECK (digest = 'sha-256:' || encode(sha256(convert_to(definition, 'UTF8')), 'hex'))
);

-- Obligations of denials. They are carried out although nothing is permitted, once for each evaluation and obligation (the id is
-- made of both). `sealed_message` is deleted once the obligation was accepted or given up. The row stays for a week, for
-- repetitions.
CREATE TABLE gateway.obligation (
  id             text PRIMARY KEY,
  -- The data key of the message, wrapped by a key of the configuration.
  message_key    text,
  sealed_message text,
  added_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT obligation_message CHECK ((message_key IS NULL) = (sealed_message IS NULL))
);
CREATE INDEX obligation_by_time ON gateway.obligation (added_at) WHERE sealed_message IS NULL;

-- Authority side: access requests, the votes on them, and what was reported about them to the outside; and the sessions of the
-- two groups of pages. State changes go through functions, as those of gated calls do.
CREATE SCHEMA IF NOT EXISTS approvals;

CREATE SCHEMA IF NOT EXISTS audit;

-- Access requests that were submitted together. Their client knows the bundle by this id, and does not know the ids of its items.
-- The status of a bundle is derived from its items. A bundle is written once, and deleted with all its items.
CREATE TABLE approvals.bundle (
  id                text PRIMARY KEY,
  submitted_by      text NOT NULL,
  callback_endpoint text,
  callback_state    text,
  callback_events   text[]
);

-- `subject`, `action`, `resource` and `context` are RFC 8785 text: approvers see exactly what was submitted. So is `claimed`, the
-- rest of a submission: it is kept for auditors, and no decision rests on it. A key that is no longer kept is NULL. `stages` says
-- who has to agree, as configured when the request was opened. `stage` counts them from 1. `stage_opened_at`, `stage_ends_at` and
-- `remind_at` are those of the open stage, which may have no deadline and no reminder left. `parties` are the subjects that may
-- not decide. `notified`: notifications are sent about it, in addition to a callback. An item of a bundle has a `position` in it,
-- from 1. The first item has the key of the submission, where the one constraint keeps it from being used twice, and the bundle
-- has the callback. `denial_part`: which of the things in its denial the request stands for. Every request that uses a denial has
-- its first part, so no denial is used twice. `tool_digest`: the description of the tool that the denial binds. `grant_seconds` and
-- `grant_uses` are the bounds that policy sets for a grant on this request. They are NULL if it allows none.
CREATE TABLE approvals.access_request (
  id                      text PRIMARY KEY,
  client_id               text NOT NULL,
  submitted_by            text NOT NULL,
  idempotency_key         text,
  body_digest             text NOT NULL,
  bundle_id               text REFERENCES approvals.bundle ON DELETE CASCADE,
  position                integer NOT NULL DEFAULT 1 CHECK (position >= 1),
  evaluation_id           text NOT NULL,
  -- W3C trace id of the submission, if its enforcement point sent one. It is for logs and proves nothing.
  trace_id                text CHECK (trace_id ~ '^[0-9a-f]{32}$'),
  token_jti               text NOT NULL,
  denial_part             integer NOT NULL DEFAULT 1,
  subject                 text NOT NULL,
  action                  text NOT NULL,
  resource                text NOT NULL,
  context                 text NOT NULL,
  claimed                 text NOT NULL,
  -- For lists: what the gateway says that the tool does, and the outline of the arguments (JSON). No decision rests on it.
  effect                  text,
  outline                 text,
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
  tool_digest             text CHECK (tool_digest ~ '^sha-256:[0-9a-f]{64}$'),
  grant_seconds           integer CHECK (grant_seconds > 0),
  grant_uses              integer CHECK (grant_uses > 0),
  parties                 text[] NOT NULL,
  stages                  jsonb NOT NULL CHECK (jsonb_array_length(stages) >= 1),
  separate_stages         boolean NOT NULL,
  approval_ms             bigint NOT NULL CHECK (approval_ms > 0),
  stage                   integer NOT NULL DEFAULT 1 CHECK (stage BETWEEN 1 AND jsonb_array_length(stages)),
  stage_opened_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  stage_ends_at           timestamptz,
  remind_at               timestamptz,
  retry_at                timestamptz,
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
  -- When a client first got that proof. The database sets it.
  approval_fetched_at     timestamptz,
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
  CONSTRAINT access_request_state_of_approval CHECK (approval_state IS NULL OR status = 'approved'),
  CONSTRAINT access_request_fetched_with_state CHECK ((approval_fetched_at IS NULL) = (approval_state IS NULL)),
  CONSTRAINT access_request_grant_bounds CHECK ((grant_seconds IS NULL) = (grant_uses IS NULL))
);
CREATE INDEX access_request_open_by_due ON approvals.access_request
  (greatest(least(expires_at, stage_ends_at, remind_at), retry_at)) WHERE status = 'pending';
CREATE INDEX access_request_open_by_age ON approvals.access_request (created_at, id) WHERE status = 'pending';
CREATE INDEX access_request_open_by_stage ON approvals.access_request (stage_opened_at) WHERE status = 'pending';
CREATE INDEX access_request_decided ON approvals.access_request (ended_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX access_request_by_agent ON approvals.access_request (requester_client, tool, ended_at, id);
CREATE INDEX access_request_open_by_agent ON approvals.access_request (requester_client, created_at, id) WHERE status = 'pending';

-- An approver who is away lets another person decide in their place, until the delegation ends. It cannot be handed on: a vote
-- needs a delegation by the person whose vote it is. The roles are those that this person had when they delegated.
-- `delegator_chain` has the names that stood behind them then: their other names, and those through whom they spoke. With an
-- `access_request_id` it is a hand-over: it holds for that request alone, and goes with it.
CREATE TABLE approvals.delegation (
  id                text PRIMARY KEY,
  delegator_issuer  text NOT NULL,
  delegator_subject text NOT NULL,
  delegator_roles   text[] NOT NULL,
  delegator_chain   text[] NOT NULL DEFAULT '{}',
  delegate_subject  text NOT NULL,
  -- All names of both, as names of people are compared. A person who has one of them is the same person.
  delegator_names   text[] NOT NULL DEFAULT '{}',
  delegate_names    text[] NOT NULL DEFAULT '{}',
  created_at        timestamptz NOT NULL,
  until             timestamptz NOT NULL,
  revoked_at        timestamptz,
  access_request_id text REFERENCES approvals.access_request ON DELETE CASCADE,
  CONSTRAINT delegation_to_another CHECK (delegate_subject <> delegator_subject AND NOT delegate_names && delegator_names),
  CONSTRAINT delegation_names CHECK (delegator_subject = ANY (delegator_names) AND delegate_subject = ANY (delegate_names)),
  CONSTRAINT delegation_ends CHECK (until > created_at AND until <= created_at + interval '92 days')
);
CREATE INDEX delegation_by_delegate ON approvals.delegation (delegate_subject, until);
CREATE INDEX delegation_by_delegator ON approvals.delegation (delegator_subject, until);
CREATE INDEX delegation_by_request ON approvals.delegation (access_request_id) WHERE access_request_id IS NOT NULL;
-- An approver hands a request to one person at a time.
CREATE UNIQUE INDEX delegation_one_hand_over ON approvals.delegation (access_request_id, delegator_subject)
  WHERE access_request_id IS NOT NULL AND revoked_at IS NULL;
CREATE INDEX delegation_by_delegator_chain ON approvals.delegation USING gin (delegator_chain);
CREATE INDEX delegation_by_delegator_names ON approvals.delegation USING gin (delegator_names);

-- A person approves in advance: further calls like the one of a request, for a time and a number of uses. Everything but the
-- revocation is written once. The scope is copied from the request: enforcement point, template, tool with its description, and the
-- requester by all names (`parties`). `shape` is the digest of the arguments without their single values, and `conditions` are about
-- those, in the language of `rules`. `giver_chain` has the names that stood behind the giver then.
CREATE TABLE approvals."grant" (
  id                text PRIMARY KEY CHECK (id ~ '^grn_[A-Za-z0-9_-]{1,64}$'),
  access_request_id text NOT NULL UNIQUE,
  giver_issuer      text NOT NULL,
  giver_subject     text NOT NULL,
  giver_name        text,
  giver_roles       text[] NOT NULL,
  giver_chain       text[] NOT NULL,
  -- All names of the giver, as names of people are compared.
  giver_names       text[] NOT NULL DEFAULT '{}',
  client_id         text NOT NULL,
  template          text,
  tool              text NOT NULL,
  tool_digest       text NOT NULL,
  requester_issuer  text,
  requester_subject text NOT NULL,
  requester_client  text NOT NULL,
  parties           text[] NOT NULL,
  shape             text NOT NULL,
  conditions        jsonb NOT NULL,
  max_uses          integer NOT NULL CHECK (max_uses BETWEEN 1 AND 1000),
  created_at        timestamptz NOT NULL,
  expires_at        timestamptz NOT NULL,
  giver_session     text NOT NULL,
  ends_at_sign_out  boolean NOT NULL,
  revoked_at        timestamptz,
  revoked_by        text,
  UNIQUE (id, max_uses, expires_at),
  CONSTRAINT grant_ends CHECK (expires_at > created_at AND expires_at <= created_at + interval '1 day'),
  CONSTRAINT grant_revoked CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
);
CREATE INDEX grant_by_requester ON approvals."grant" (requester_subject, tool, expires_at);
CREATE INDEX grant_by_giver ON approvals."grant" (giver_subject, created_at, id);
CREATE INDEX grant_by_age ON approvals."grant" (created_at, id);
CREATE INDEX grant_by_end ON approvals."grant" (expires_at);

-- The requests that a grant approved, counted from 1. `max_uses` and `expires_at` are those of the grant, so that no row can be
-- beyond them. The rows stay when their requests are forgotten, and go with the grant.
CREATE TABLE approvals.grant_use (
  grant_id          text NOT NULL,
  number            integer NOT NULL CHECK (number >= 1),
  max_uses          integer NOT NULL,
  expires_at        timestamptz NOT NULL,
  access_request_id text NOT NULL UNIQUE,
  at                timestamptz NOT NULL,
  PRIMARY KEY (grant_id, number),
  UNIQUE (grant_id, access_request_id),
  FOREIGN KEY (grant_id, max_uses, expires_at) REFERENCES approvals."grant" (id, max_uses, expires_at) ON DELETE CASCADE,
  CONSTRAINT grant_use_within_number CHECK (number <= max_uses),
  CONSTRAINT grant_use_in_time CHECK (at < expires_at)
);

-- The verdict of one approver in one stage. `counts_in` is that stage, or 0 if a person counts in only one stage of the whole
-- request. The primary key makes every person count once, whichever way they came. People are known by their subject at the one
-- issuer, because two spellings of the issuer must not make two people of one. `cast_by` spoke: the approver, or a person who
-- stands in for them, and who also speaks only once. `actors` are the subjects that acted for them by their token (RFC 8693):
-- each of these has spoken too. Names are as they were displayed then, if known. They are for records, and are never compared.
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
  -- All names of those who have a voice in it, as names of people are compared. No two votes where one counts have a name in common.
  names             text[] NOT NULL DEFAULT '{}',
  delegation_id     text REFERENCES approvals.delegation,
  -- The requester confirmed what their own agent asked for.
  as_requester      boolean NOT NULL DEFAULT false,
  verdict           text NOT NULL CHECK (verdict IN ('approve','deny')),
  reason            text,
  -- The approver's words for the agent. One paragraph: agents read it.
  agent_message     text CHECK (char_length(agent_message) BETWEEN 1 AND 500 AND agent_message !~ '[[:cntrl:]]'),
  call_digest       text NOT NULL,
  via               text NOT NULL CHECK (via IN ('inbox','api','webhook','slack','agent','automatic','grant')),
  -- The signature of the voter's passkey and everything that is needed to check it again, if the stage demands one.
  passkey_assertion jsonb,
  grant_id          text,
  -- Digest of the preview on the page from which the vote came. It is bound to nothing.
  preview_digest    text CHECK (preview_digest ~ '^sha-256:[0-9a-f]{64}$'),
  at                timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (access_request_id, counts_in, approver_subject),
  CONSTRAINT vote_with_passkey CHECK (passkey_assertion IS NULL OR (verdict = 'approve' AND via = 'inbox')),
  CONSTRAINT vote_names CHECK (names @> (actors || ARRAY[approver_subject, cast_by])),
  CONSTRAINT vote_counts_in CHECK (counts_in IN (0, stage)),
  CONSTRAINT vote_one_voice UNIQUE (access_request_id, counts_in, cast_by),
  CONSTRAINT vote_in_whose_name CHECK ((cast_by = approver_subject) = (delegation_id IS NULL)),
  -- Only the requester in person confirms, in the browser: no other voice and no program is behind the vote.
  CONSTRAINT vote_as_requester CHECK (NOT as_requester OR via = 'inbox' AND delegation_id IS NULL AND actors = '{}'),
  -- No person can sign in with the name of a resolver, and a resolver votes only in its own name.
  CONSTRAINT vote_automatic CHECK
    ((via = 'automatic') = starts_with(approver_subject, 'automatic:') AND (via <> 'automatic' OR cast_by = approver_subject)),
  -- A grant approves in the name of its giver, and each such vote is a counted use. The use is written right after the vote.
  CONSTRAINT vote_by_grant CHECK
    ((via = 'grant') = (grant_id IS NOT NULL) AND (via <> 'grant' OR (verdict = 'approve' AND cast_by = approver_subject))),
  CONSTRAINT vote_is_use_of_grant FOREIGN KEY (grant_id, access_request_id)
    REFERENCES approvals.grant_use (grant_id, access_request_id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX vote_by_grant_id ON approvals.vote (grant_id) WHERE grant_id IS NOT NULL;

-- Approvals that no longer counted when their stage was settled: the approver had left, or no longer belonged to the stage.
CREATE TABLE approvals.lapsed_approval (
  access_request_id text NOT NULL REFERENCES approvals.access_request ON DELETE CASCADE,
  stage             integer NOT NULL,
  approver_subject  text NOT NULL,
  PRIMARY KEY (access_request_id, stage, approver_subject)
);

-- An approver of the open stage gave the others more time: the end of the stage moved from `ends_before` to `ends_after`. `number` counts
-- the extensions of a stage, so each is made once, by the person who saw the end that it moves. The function sees to the greatest sum and
-- to the end of the request.
CREATE TABLE approvals.extension (
  access_request_id text NOT NULL REFERENCES approvals.access_request ON DELETE CASCADE,
  stage             integer NOT NULL,
  number            integer NOT NULL CHECK (number >= 1),
  by_issuer         text NOT NULL,
  by_subject        text NOT NULL,
  by_name           text,
  ends_before       timestamptz NOT NULL,
  ends_after        timestamptz NOT NULL,
  reason            text,
  via               text NOT NULL CHECK (via IN ('inbox','api')),
  at                timestamptz NOT NULL,
  PRIMARY KEY (access_request_id, stage, number),
  CONSTRAINT extension_gives_time CHECK (ends_after > ends_before),
  CONSTRAINT extension_in_time CHECK (at < ends_before)
);

-- An approver asked the requester a question. It decides nothing. `number` counts the questions of a request. `on_behalf_of` is the approver
-- in whose place the person asked, if any.
CREATE TABLE approvals.requester_question (
  access_request_id text NOT NULL REFERENCES approvals.access_request ON DELETE CASCADE,
  number            integer NOT NULL CHECK (number BETWEEN 1 AND 20),
  stage             integer NOT NULL,
  by_issuer         text NOT NULL,
  by_subject        text NOT NULL,
  by_name           text,
  on_behalf_of      text CHECK (on_behalf_of <> by_subject),
  question          text NOT NULL CHECK (length(question) BETWEEN 1 AND 2000),
  via               text NOT NULL CHECK (via IN ('inbox','api')),
  at                timestamptz NOT NULL,
  PRIMARY KEY (access_request_id, number)
);

-- The answer of the requester, given once for each question in a browser session of theirs.
CREATE TABLE approvals.requester_answer (
  access_request_id text NOT NULL,
  number            integer NOT NULL,
  answer            text NOT NULL CHECK (length(answer) BETWEEN 1 AND 2000),
  at                timestamptz NOT NULL,
  PRIMARY KEY (access_request_id, number),
  FOREIGN KEY (access_request_id, number) REFERENCES approvals.requester_question ON DELETE CASCADE
);

-- Requests that one person granted alone, in an emergency, and who reviewed that afterwards. `granted_chain` has the names behind
-- the grant, in addition to `granted_by`. A reviewer must not be one of them.
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

-- Events of a request that people are told: a stage that opened, or took the place of one that was late (`escalated`), a
-- reminder, a hand-over, a question to the requester and its answer, the end. The primary key has each event told once. `number` counts the
-- reminders, or hand-overs, of a stage, or is that of the question.
CREATE TABLE approvals.notice (
  id                bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  access_request_id text NOT NULL REFERENCES approvals.access_request ON DELETE CASCADE,
  event             text NOT NULL CHECK (event IN ('opened','escalated','reminder','handed_over','question_asked','question_answered','ended')),
  stage             integer NOT NULL,
  number            integer NOT NULL DEFAULT 1 CHECK (number >= 1),
  at                timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (access_request_id, stage, event, number),
  CONSTRAINT notice_number CHECK (number = 1 OR event IN ('reminder','handed_over','question_asked','question_answered'))
);

-- The people whom a notice asks to decide, as the directory named them when its messages were queued. Written once.
CREATE TABLE approvals.addressed_notice (
  notice_id  bigint PRIMARY KEY REFERENCES approvals.notice (id) ON DELETE CASCADE,
  recipients text[] NOT NULL
);

-- What a channel tells one person about a request: one message, which follows the request. `person` is empty if the channel is a
-- room. `begun_at` is set before the first attempt to send, so that a message that may have arrived is followed up. `told` names
-- what the message said last, and `external_id` is its id at the channel. One process at a time works on it, until `held_until`.
-- The message without a request is the digest of the person: it counts the requests whose messages are `gathered`, because there was
-- no room for a message of their own (see admit_message). A later one has a greater number.
CREATE TABLE approvals.message (
  id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  access_request_id text REFERENCES approvals.access_request ON DELETE CASCADE,
  person            text NOT NULL,
  channel           text NOT NULL,
  begun_at          timestamptz,
  told              text,
  external_id       text,
  held_until        timestamptz,
  gathered          bigint,
  UNIQUE NULLS NOT DISTINCT (access_request_id, person, channel),
  CONSTRAINT message_told CHECK (begun_at IS NOT NULL OR told IS NULL),
  CONSTRAINT message_gathered CHECK (access_request_id IS NOT NULL OR gathered IS NULL)
);
CREATE INDEX message_gathered_for ON approvals.message (person, channel) WHERE gathered IS NOT NULL;
CREATE SEQUENCE approvals.gathering;

-- Everyone who gets messages, and each room by its empty name. The lock on the row makes the messages to one person wait for each
-- other, so that their bound holds.
CREATE TABLE approvals.recipient (
  person text PRIMARY KEY
);

-- Messages that a person hears, of the last hour. `told` is what the message said, so that a repeated attempt counts once.
CREATE TABLE approvals.alert (
  message_id bigint NOT NULL REFERENCES approvals.message (id) ON DELETE CASCADE,
  told       text NOT NULL,
  person     text NOT NULL REFERENCES approvals.recipient,
  at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (message_id, told)
);
CREATE INDEX alert_by_person ON approvals.alert (person, at);

-- Browsers in which a person has switched notices on (RFC 8030). Everyone who knows the address of one can send to it, but only the
-- holder of the keys can write a notice that the browser shows. `server_key` is the public key for which it was made: the push service
-- takes requests that this key signed, and no others. Since `nowhere_since`, its name has led to no address that may be called.
CREATE TABLE approvals.push_subscription (
  id            bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  endpoint      text PRIMARY KEY CHECK (endpoint ~ '^[!-~]+$' AND char_length(endpoint) <= 2000),
  person        text NOT NULL,
  p256dh        text NOT NULL CHECK (p256dh ~ '^[A-Za-z0-9_-]{87}$'),
  auth          text NOT NULL CHECK (auth ~ '^[A-Za-z0-9_-]{22}$'),
  server_key    text NOT NULL CHECK (server_key ~ '^[A-Za-z0-9_-]{87}$'),
  subscribed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  nowhere_since timestamptz
);
CREATE INDEX push_subscription_by_person ON approvals.push_subscription (person, subscribed_at);

-- Signed decisions that were received, with their outcome. The primary key stops a replay for ever.
CREATE TABLE approvals.decision_webhook_inbox (
  source      text NOT NULL,
  webhook_id  text NOT NULL,
  body_digest text NOT NULL,
  outcome     text,
  received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (source, webhook_id)
);

CREATE TABLE approvals.outbox (
  LIKE gateway.outbox INCLUDING IDENTITY INCLUDING DEFAULTS INCLUDING INDEXES,
  CHECK (kind = 'callback')
);

-- What people and bots still have to be told. A row of the kind `notice` finds out whom a notice concerns. It becomes one row for
-- the receiver of the webhook, and one for each message. The kinds do not wait for each other, so a channel that fails delays no
-- other.
CREATE TABLE approvals.message_outbox (
  LIKE gateway.outbox INCLUDING IDENTITY INCLUDING DEFAULTS INCLUDING INDEXES,
  CHECK (kind IN ('notice','webhook','email','slack','teams','push'))
);

-- Questions to automatic resolvers, one row for each. The transaction that opens the stage writes the row, and the answer deletes
-- it. They have an outbox of their own, so that a slow resolver delays no callback. `subject_id` is the request, a slash and the
-- stage.
CREATE TABLE approvals.question_outbox (
  LIKE gateway.outbox INCLUDING IDENTITY INCLUDING DEFAULTS INCLUDING INDEXES,
  CHECK (kind = 'question'),
  UNIQUE (subject_id)
);

-- Signed-in people. A row is written once, at the sign-in, and deleted at the end. The last three columns are the issuer's last
-- answer about the person, its time, and, sealed, the proof with which the issuer is asked again. A session without them is over.
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

CREATE TABLE audit.session (LIKE approvals.session INCLUDING DEFAULTS INCLUDING INDEXES);

-- Answers of automatic resolvers. A resolver is asked once for a stage. A step that was repeated after a crash may bring a second
-- answer, which the primary key keeps out. `failed`: no answer came that could be understood. `outcome` says how the answer
-- counted.
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

-- Approvals that were taken back. The request stays approved, since ends never change. The PDP decides what an approval is still
-- good for, and it asks for these.
CREATE TABLE approvals.revocation (
  access_request_id text PRIMARY KEY REFERENCES approvals.access_request ON DELETE CASCADE,
  by_issuer         text NOT NULL,
  by_subject        text NOT NULL,
  reason            text,
  via               text NOT NULL CHECK (via IN ('inbox','api')),
  at                timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Passkeys of approvers. A row is never deleted, so that it stays readable whose passkey confirmed a vote, and so that a removed
-- one cannot be registered again by the same message. `counter` is the signature counter that the authenticator last told; many
-- always tell 0. Binary values are base64url texts, as WebAuthn's JSON has them; `public_key` is a COSE key.
CREATE TABLE approvals.passkey (
  id            text PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9_-]+$' AND char_length(id) <= 1400),
  issuer        text NOT NULL,
  subject       text NOT NULL,
  name          text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 60),
  public_key    text NOT NULL CHECK (public_key ~ '^[A-Za-z0-9_-]+$' AND char_length(public_key) <= 2000),
  counter       bigint NOT NULL CHECK (counter >= 0),
  transports    text[] NOT NULL,
  device_type   text NOT NULL CHECK (device_type IN ('singleDevice','multiDevice')),
  backed_up     boolean NOT NULL,
  registered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_used_at  timestamptz,
  revoked_at    timestamptz,
  -- Subject of the person who removed it; NULL if its counter showed that there is a copy.
  revoked_by    text,
  CONSTRAINT passkey_revoked CHECK (revoked_by IS NULL OR revoked_at IS NOT NULL)
);
CREATE INDEX passkey_by_subject ON approvals.passkey (subject, registered_at);

-- Random values that a page has given out, to be used once by one person: for a registration, or for one access request.
CREATE TABLE approvals.passkey_challenge (
  nonce             text PRIMARY KEY CHECK (nonce ~ '^[A-Za-z0-9_-]{43}$'),
  subject           text NOT NULL,
  access_request_id text REFERENCES approvals.access_request ON DELETE CASCADE,
  expires_at        timestamptz NOT NULL
);
CREATE INDEX passkey_challenge_by_expiry ON approvals.passkey_challenge (expires_at);
CREATE INDEX passkey_challenge_by_request ON approvals.passkey_challenge (access_request_id);

-- Previews that approvers asked for while their request was open. The first preview of a request is in its submission ("claimed").
CREATE TABLE approvals.preview (
  access_request_id text NOT NULL REFERENCES approvals.access_request ON DELETE CASCADE,
  number            integer NOT NULL CHECK (number BETWEEN 2 AND 50),
  -- JSON as the client sent it. A text, because jsonb has no U+0000.
  preview           text NOT NULL CHECK (length(preview) <= 1000000),
  asked_by_issuer   text NOT NULL,
  asked_by_subject  text NOT NULL,
  asked_by_name     text,
  at                timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (access_request_id, number)
);

-- When an approver who could decide a request first opened its page in a browser, and when they last did. The first is for figures about
-- decisions, the last tells other approvers who looks at it. No decision rests on either.
CREATE TABLE approvals.page_opening (
  access_request_id text NOT NULL REFERENCES approvals.access_request ON DELETE CASCADE,
  subject           text NOT NULL,
  at                timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (access_request_id, subject)
);

-- Authority side: denials that the policy decision point put on record.
CREATE SCHEMA IF NOT EXISTS pdp;

-- One row for each requestable denial, written before the denial is answered. Arguments are not kept. The hash over the bound
-- content proves which request it was, and the access request holds what approvers see.
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
  listed_templates        text[] NOT NULL,
  reason                  text NOT NULL,
  policies                text[] NOT NULL,
  -- The bounds that the policies set for a grant. NULL if they allow none.
  grant_seconds           integer,
  grant_uses              integer,
  policy_version          text NOT NULL,
  evaluated_at            timestamptz NOT NULL,
  expires_at              timestamptz NOT NULL,
  -- A denial can be taken up by a submission for ten minutes at most.
  CONSTRAINT evaluation_window CHECK (expires_at > evaluated_at AND expires_at <= evaluated_at + interval '10 minutes')
);
CREATE INDEX evaluation_by_time ON pdp.evaluation (evaluated_at);

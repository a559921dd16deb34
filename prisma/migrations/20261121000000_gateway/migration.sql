-- Enforcement side: gated calls, their fences and their records.
-- State changes go through functions: they lock the row first, then update it under conditions read with
-- clock_timestamp(), so that no time passes unseen between the check and the change.
--
-- Every statement reads as many rows as it needs, however many calls are open and whatever the statistics say. The
-- planner may use a partial index for each statement whose conditions imply that of the index, and statistics taken in a
-- quiet minute say that such an index is empty, so reading all of it looks as cheap as one lookup by key. Hence each
-- partial index has a condition that only the statements it is for can meet, functions look rows up by key and check the
-- rest afterwards, and times are compared with now() (fixed for a statement) where an index is to be used.
CREATE SCHEMA IF NOT EXISTS gateway;

CREATE TABLE gateway.transition (
  from_state text NOT NULL,
  to_state   text NOT NULL,
  PRIMARY KEY (from_state, to_state)
);
INSERT INTO gateway.transition VALUES
  ('preparing','pending'), ('preparing','denied'), ('preparing','cancelled'), ('preparing','failed'),
  ('pending','granted'), ('pending','denied'), ('pending','cancelled'), ('pending','failed'),
  ('input_required','granted'), ('input_required','denied'), ('input_required','cancelled'), ('input_required','failed'),
  ('granted','pending'), ('granted','input_required'), ('granted','claimed'), ('granted','denied'), ('granted','cancelled'), ('granted','failed'),
  ('claimed','executed'), ('claimed','execution_error'), ('claimed','outcome_unknown');

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
  look_at             timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT gated_call_state_known CHECK (state IN ('preparing','pending','input_required','granted','claimed',
    'executed','execution_error','outcome_unknown','denied','cancelled','failed')),
  CONSTRAINT gated_call_ended CHECK
    ((state IN ('executed','execution_error','outcome_unknown','denied','cancelled','failed')) = (ended_at IS NOT NULL)),
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
CREATE INDEX gated_call_look ON gateway.gated_call (look_at) WHERE state = 'pending';
-- What an identical call is answered with; and what an owner has asked for lately.
CREATE INDEX gated_call_ended_alike ON gateway.gated_call (owner_key, dedup_key, ended_at) WHERE claim_id IS NOT NULL AND ended_at IS NOT NULL;
CREATE INDEX gated_call_by_owner ON gateway.gated_call (owner_key, created_at);
CREATE INDEX gated_call_preparing ON gateway.gated_call (created_at) WHERE state = 'preparing';

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
INSERT INTO gateway.epoch DEFAULT VALUES;

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

-- Writes one of the two rows. It must not run below a savepoint, whose rows carry a number of their own.
CREATE FUNCTION gateway.stamp(p_place int) RETURNS void LANGUAGE sql AS $$
  INSERT INTO gateway.fence SELECT p_place, pg_current_xact_id(), oid FROM pg_database WHERE datname = current_database()
    ON CONFLICT (place) DO UPDATE SET stamped_by = excluded.stamped_by, database = excluded.database;
$$;
SELECT gateway.stamp(1);

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
  kind          text NOT NULL CHECK (kind IN ('start_workflow','poke_workflow','cancel_access_request','deliver_obligation')),
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

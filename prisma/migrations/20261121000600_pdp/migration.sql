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

-- Forgets denials that were put on record longer ago than is said, and none that a request may still be made on: clocks may
-- differ by less than the hour that is waited. Answers how many.
CREATE FUNCTION pdp.forget_evaluations(p_keep_ms bigint, p_limit int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_count int;
BEGIN
  DELETE FROM pdp.evaluation WHERE evaluation_id IN (
    SELECT evaluation_id FROM pdp.evaluation WHERE evaluated_at <= clock_timestamp() - p_keep_ms * interval '1 ms'
        AND expires_at <= clock_timestamp() - interval '1 hour'
      ORDER BY evaluated_at LIMIT p_limit FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$;

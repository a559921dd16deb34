-- Takes the owner's sealed answers, by the keys of their questions. A null is no answer: its question stays open. Answers to
-- questions that are not open are ignored. With the last answer the call goes on. Returns the state of the call afterwards.
CREATE OR REPLACE FUNCTION gateway.answer_input(p_call uuid, p_keys text[], p_sealed_answers text[], p_retention_ms bigint)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call; v_now timestamptz;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  v_now := clock_timestamp();
  IF c.state <> 'input_required' THEN RETURN c.state; END IF;
  IF c.approval_expires_at <= v_now THEN
    RETURN gateway.expire_gated_call(p_call, p_retention_ms);
  END IF;
  UPDATE gateway.question q SET sealed_answer = a.sealed, answered_at = v_now
    FROM unnest(p_keys, p_sealed_answers) AS a (key, sealed)
    WHERE q.gated_call_id = p_call AND q.answered_at IS NULL AND q.key = a.key AND a.sealed IS NOT NULL;
  IF NOT FOUND THEN RETURN c.state; END IF;
  IF EXISTS (SELECT 1 FROM gateway.question WHERE gated_call_id = p_call AND answered_at IS NULL) THEN
    -- The task shows less than before.
    UPDATE gateway.gated_call SET last_updated_at = v_now WHERE id = p_call;
    PERFORM pg_notify('gateway_task', c.task_id);
    RETURN c.state;
  END IF;
  PERFORM gateway.transition(p_call, 'granted', 'input_given', NULL, 0);
  PERFORM gateway.enqueue('signal_workflow', p_call::text);
  RETURN 'granted';
END $$;

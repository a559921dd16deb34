-- Asks open questions of a task again that got an answer which does not count, each under a new key: clients answer no key twice. The
-- question itself counts as answered with nothing, which `p_sealed_answers` says. A call is denied for `p_reason` once such a question was asked again `p_max_refusals` times. Questions that are not open are ignored.
-- Returns the state of the call afterwards.
CREATE OR REPLACE FUNCTION gateway.ask_again(p_call uuid, p_keys text[], p_sealed_answers text[], p_new_keys text[], p_sealed_forms text[],
  p_max_refusals int, p_reason text, p_retention_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call; v_now timestamptz;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  v_now := clock_timestamp();
  IF c.state <> 'input_required' THEN RETURN c.state; END IF;
  IF c.due_at <= v_now THEN RETURN gateway.expire_gated_call(p_call, p_retention_ms); END IF;
  IF EXISTS (SELECT 1 FROM gateway.question WHERE gated_call_id = p_call AND answered_at IS NULL AND key = ANY (p_keys)
      AND refusals >= p_max_refusals) THEN
    RETURN gateway.end_unclaimed(p_call, 'denied', p_reason, 'client', p_retention_ms);
  END IF;
  WITH refused AS (
    UPDATE gateway.question q SET sealed_answer = a.sealed_answer, answered_at = v_now
      FROM unnest(p_keys, p_sealed_answers, p_new_keys, p_sealed_forms) AS a (key, sealed_answer, new_key, sealed_form)
      WHERE q.gated_call_id = p_call AND q.answered_at IS NULL AND q.key = a.key
      RETURNING a.new_key, q.generation, q.form_digest, a.sealed_form, q.asked_at, q.refusals)
  INSERT INTO gateway.question (key, gated_call_id, generation, form_digest, sealed_form, asked_at, refusals)
    SELECT r.new_key, p_call, r.generation, r.form_digest, r.sealed_form, r.asked_at, r.refusals + 1 FROM refused r;
  IF FOUND THEN
    -- The task shows other questions than before.
    UPDATE gateway.gated_call SET last_updated_at = v_now WHERE id = p_call;
    PERFORM pg_notify('gateway_task', c.task_id);
  END IF;
  RETURN c.state;
END $$;

-- Records the handle that the access request service gave. The task exists from here on. A repetition changes nothing. Returns
-- the task too, if the handle was attached.
CREATE OR REPLACE FUNCTION gateway.attach_handle(p_call uuid, p_generation int, p_request_key text, p_sealed_handle text,
  p_expires_at timestamptz, p_settled boolean) RETURNS TABLE (outcome text, task gateway.task) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE c gateway.gated_call; v_known text;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  SELECT access_request_key INTO STRICT v_known FROM gateway.submission
    WHERE gated_call_id = p_call AND generation = p_generation;
  IF v_known IS NOT NULL AND v_known <> p_request_key THEN
    RETURN QUERY SELECT 'conflict', NULL::gateway.task; RETURN;
  END IF;
  IF v_known IS NULL THEN
    UPDATE gateway.submission SET access_request_key = p_request_key, sealed_handle = p_sealed_handle
      WHERE gated_call_id = p_call AND generation = p_generation;
  END IF;
  IF c.ended_at IS NOT NULL THEN
    IF v_known IS NULL AND c.state IN ('cancelled','denied','failed') THEN
      PERFORM gateway.enqueue('cancel_access_request', p_call::text);
    END IF;
    RETURN QUERY SELECT 'ended', NULL::gateway.task; RETURN;
  END IF;
  IF c.generation = p_generation AND c.state IN ('preparing','pending') AND p_expires_at < c.request_deadline THEN
    UPDATE gateway.gated_call SET request_deadline = p_expires_at WHERE id = p_call;
  END IF;
  IF c.state = 'preparing' THEN
    PERFORM gateway.transition(p_call, 'pending', 'submitted', NULL, 0);
    PERFORM gateway.enqueue('start_workflow', p_call::text);
  END IF;
  -- No callback comes for a request that has ended already.
  IF p_settled AND c.generation = p_generation THEN PERFORM gateway.enqueue('signal_workflow', p_call::text); END IF;
  RETURN QUERY SELECT 'attached', t FROM gateway.task t WHERE t.id = p_call;
END $$;

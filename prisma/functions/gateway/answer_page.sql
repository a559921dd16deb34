-- Notes that the client of a task answered the question to open the page of the call. No answer decides anything.
-- Listeners are told, because the task no longer asks. A call whose client answered before, or that no longer waits for people, stays as it is.
CREATE OR REPLACE FUNCTION gateway.answer_page(p_call uuid) RETURNS void LANGUAGE sql AS $$
  WITH answered AS (
    UPDATE gateway.gated_call SET page_answered_at = clock_timestamp()
      WHERE id = p_call AND state = 'pending' AND page_answered_at IS NULL RETURNING task_id)
  SELECT pg_notify('gateway_task', task_id) FROM answered;
$$;

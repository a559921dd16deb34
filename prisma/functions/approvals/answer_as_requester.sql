-- Keeps the requester's answer to a question, once, while the request is open. The session is read here, so no caller of this function can
-- claim to be the requester: it is a browser session of that very person, by any name that their issuer gives them, and an agent's
-- credential has none. Outcomes:
-- answered, repeated (the same answer again), answered_before, no_question, not_requester, final, not_found.
CREATE OR REPLACE FUNCTION approvals.answer_as_requester(p_request_id text, p_number int, p_session text, p_answer text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_before text;
BEGIN
  PERFORM approvals.expire_access_request(p_request_id);
  SELECT * INTO r FROM approvals.access_request WHERE id = p_request_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  PERFORM 1 FROM approvals.session s, LATERAL (SELECT s.sess::jsonb -> 'person' AS person) AS signed_in
    WHERE s.sid = p_session AND s.expire > clock_timestamp() AND person ->> 'issuer' = r.requester_issuer
      AND jsonb_build_array(person -> 'subject') || coalesce(person -> 'aliases', '[]') ? r.requester_subject AND r.requester_subject IS DISTINCT FROM r.requester_client;
  IF NOT FOUND THEN RETURN 'not_requester'; END IF;
  SELECT answer INTO v_before FROM approvals.requester_answer WHERE access_request_id = r.id AND number = p_number;
  IF FOUND THEN RETURN CASE WHEN v_before = p_answer THEN 'repeated' ELSE 'answered_before' END; END IF;
  IF r.status <> 'pending' THEN RETURN 'final'; END IF;
  PERFORM 1 FROM approvals.requester_question WHERE access_request_id = r.id AND number = p_number;
  IF NOT FOUND THEN RETURN 'no_question'; END IF;
  INSERT INTO approvals.requester_answer (access_request_id, number, answer, at) VALUES (r.id, p_number, p_answer, clock_timestamp());
  PERFORM approvals.enqueue_notice(r.id, 'question_answered', p_number);
  RETURN 'answered';
END $$;

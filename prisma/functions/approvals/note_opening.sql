-- Notes that a person who can decide a request opened its page. Only the first time counts, and only while the request is open.
CREATE OR REPLACE FUNCTION approvals.note_opening(p_request_id text, p_subject text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO approvals.page_opening (access_request_id, subject)
    SELECT id, p_subject FROM approvals.access_request WHERE id = p_request_id AND status = 'pending' ON CONFLICT DO NOTHING
$$;

-- Notes that a person who can decide a request opened its page, while the request is open. An opening soon after the last one is the same
-- look: open pages load themselves again after each notice, and must not cause the next notice by it.
CREATE OR REPLACE FUNCTION approvals.note_opening(p_request_id text, p_subject text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO approvals.page_opening AS o (access_request_id, subject)
    SELECT id, p_subject FROM approvals.access_request WHERE id = p_request_id AND status = 'pending'
  ON CONFLICT (access_request_id, subject) DO UPDATE SET last_at = clock_timestamp()
    WHERE o.last_at < clock_timestamp() - interval '5 min'
$$;

-- Keeps a preview that an approver asked for, while the request is open. The first preview of a request has the number 1 and is in its
-- submission. Outcomes: kept, final, full (there are as many as a request can have), not_found.
CREATE OR REPLACE FUNCTION approvals.keep_preview(
  p_request_id text, p_preview text, p_by_issuer text, p_by_subject text, p_by_name text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_number int;
BEGIN
  PERFORM approvals.expire_access_request(p_request_id);
  SELECT * INTO r FROM approvals.access_request WHERE id = p_request_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  IF r.status <> 'pending' THEN RETURN 'final'; END IF;
  SELECT coalesce(max(number), 1) + 1 INTO v_number FROM approvals.preview WHERE access_request_id = r.id;
  IF v_number > 50 THEN RETURN 'full'; END IF;
  INSERT INTO approvals.preview (access_request_id, number, preview, asked_by_issuer, asked_by_subject, asked_by_name)
    VALUES (r.id, v_number, p_preview, p_by_issuer, p_by_subject, p_by_name);
  RETURN 'kept';
END $$;

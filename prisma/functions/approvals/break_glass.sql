-- Grants a request past its stages: one person grants it alone and at once, for a reason, and another person reviews it
-- afterwards. The requester and their delegates may not grant it. Outcomes: counted, repeated (by the same person), final,
-- mismatch, own_request, delegate_of_requester, not_found.
CREATE OR REPLACE FUNCTION approvals.break_glass(p_request_id text, p_generation int, p_call_digest text, p_approver_issuer text,
  p_approver_subject text, p_approver_name text, p_chain text[], p_reason text, p_via text, p_approval_id text, p_approval_ms bigint,
  p_names text[] DEFAULT NULL)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_chain text[] := coalesce(p_names, '{}') || coalesce(p_chain, '{}'); v_part text;
BEGIN
  PERFORM approvals.expire_access_request(p_request_id);
  SELECT * INTO r FROM approvals.access_request WHERE id = p_request_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  v_part := approvals.part_in(p_approver_subject || v_chain, r.parties, r.created_at);
  IF v_part IS NOT NULL THEN RETURN v_part; END IF;
  IF r.generation <> coalesce(p_generation, r.generation) OR r.call_digest IS DISTINCT FROM p_call_digest THEN
    RETURN 'mismatch';
  END IF;
  IF r.status <> 'pending' THEN
    PERFORM 1 FROM approvals.break_glass WHERE access_request_id = p_request_id AND granted_by = p_approver_subject;
    RETURN CASE WHEN FOUND THEN 'repeated' ELSE 'final' END;
  END IF;
  INSERT INTO approvals.break_glass (access_request_id, issuer, granted_by, granted_by_name, granted_chain, reason, call_digest, via)
    VALUES (p_request_id, p_approver_issuer, p_approver_subject, p_approver_name, v_chain, p_reason, p_call_digest, p_via);
  PERFORM approvals.approve_request(p_request_id, p_approval_id, p_approval_ms);
  RETURN 'counted';
END $$;

-- Grants a request past its stages: one person does so alone and at once, for a reason, and another person reviews it afterwards. Who
-- asked may not, nor may their delegates. Outcomes: counted, repeated (by the same person), final, mismatch, own_request, delegate_of_requester, not_found.
CREATE OR REPLACE FUNCTION approvals.break_glass(p jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_id text := p ->> 'request_id'; v_subject text := p ->> 'approver_subject';
  v_chain text[] := ARRAY(SELECT jsonb_array_elements_text(p -> 'chain')); v_part text;
BEGIN
  PERFORM approvals.expire_access_request(v_id);
  SELECT * INTO r FROM approvals.access_request WHERE id = v_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  v_part := approvals.part_in(v_subject || v_chain, r.parties, r.created_at);
  IF v_part IS NOT NULL THEN RETURN v_part; END IF;
  IF r.generation <> coalesce((p ->> 'generation')::int, r.generation) OR r.call_digest IS DISTINCT FROM p ->> 'call_digest' THEN
    RETURN 'mismatch';
  END IF;
  IF r.status <> 'pending' THEN
    PERFORM 1 FROM approvals.break_glass WHERE access_request_id = v_id AND granted_by = v_subject;
    RETURN CASE WHEN FOUND THEN 'repeated' ELSE 'final' END;
  END IF;
  INSERT INTO approvals.break_glass (access_request_id, issuer, granted_by, granted_by_name, granted_chain, reason, call_digest, via)
    VALUES (v_id, p ->> 'approver_issuer', v_subject, p ->> 'approver_name', v_chain, p ->> 'reason', p ->> 'call_digest', p ->> 'via');
  PERFORM approvals.approve_request(v_id, p ->> 'approval_id', (p ->> 'approval_ms')::bigint);
  RETURN 'counted';
END $$;

-- What has been voted in the stage that is open makes it end, or not. The caller has locked the row of the request.
-- `p_facts` is what only the directory knows: `lapsed`, the subjects whose approval no longer counts, and `electorate`, the
-- subjects that could decide, absent where nobody knows them all.
CREATE OR REPLACE FUNCTION approvals.settle_stage(p_id text, p_facts jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_stage jsonb; v_approvals int; v_denials int; v_left int; v_next int;
BEGIN
  SELECT * INTO STRICT r FROM approvals.access_request WHERE id = p_id;
  v_stage := r.stages -> r.stage - 1;
  SELECT count(*) FILTER (WHERE verdict = 'approve' AND NOT coalesce(p_facts -> 'lapsed', '[]') ? approver_subject),
      count(*) FILTER (WHERE verdict = 'deny') INTO v_approvals, v_denials
    FROM approvals.vote WHERE access_request_id = p_id AND stage = r.stage;
  IF v_denials > 0 AND coalesce((v_stage ->> 'veto')::boolean, true) THEN
    PERFORM approvals.end_request(p_id, 'denied');
    RETURN;
  END IF;
  IF v_approvals >= (v_stage ->> 'quorum')::int THEN
    -- Whose approvals it rests on can be told later only if it is known whose it does not: people come back.
    INSERT INTO approvals.lapsed_approval (access_request_id, stage, approver_subject)
      SELECT p_id, r.stage, approver_subject FROM approvals.vote WHERE access_request_id = p_id AND stage = r.stage
        AND verdict = 'approve' AND coalesce(p_facts -> 'lapsed', '[]') ? approver_subject;
    v_next := approvals.stage_after(r.stages, r.stage, false);
    IF v_next IS NULL THEN
      PERFORM approvals.approve_request(p_id, p_facts ->> 'approval_id', r.approval_ms);
    ELSE
      PERFORM approvals.open_stage(p_id, v_next, 'opened');
    END IF;
    RETURN;
  END IF;
  IF v_denials = 0 OR p_facts -> 'electorate' IS NULL THEN RETURN; END IF;
  SELECT count(*) INTO v_left FROM jsonb_array_elements_text(p_facts -> 'electorate') AS e (subject)
    WHERE NOT EXISTS (SELECT FROM approvals.vote v WHERE v.access_request_id = p_id AND v.approver_subject = e.subject
      AND (r.separate_stages OR v.stage = r.stage));
  IF v_approvals + v_left < (v_stage ->> 'quorum')::int THEN PERFORM approvals.end_request(p_id, 'denied'); END IF;
END $$;

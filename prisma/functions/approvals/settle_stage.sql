-- Ends the open stage if its votes settle it. The caller has locked the row of the request. Only the directory knows `p_lapsed`,
-- the subjects whose approval no longer counts, and `p_electorate`, the names of people who could decide, as names are compared. `p_electorate` is NULL if the
-- directory does not know all of them.
CREATE OR REPLACE FUNCTION approvals.settle_stage(p_id text, p_lapsed text[], p_electorate text[], p_approval_id text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; v_stage jsonb; v_approvals int; v_denials int; v_left int; v_next int;
BEGIN
  SELECT * INTO STRICT r FROM approvals.access_request WHERE id = p_id;
  v_stage := r.stages -> r.stage - 1;
  SELECT count(*) FILTER (WHERE verdict = 'approve' AND approver_subject <> ALL (coalesce(p_lapsed, '{}'))),
      count(*) FILTER (WHERE verdict = 'deny') INTO v_approvals, v_denials
    FROM approvals.vote WHERE access_request_id = p_id AND stage = r.stage;
  IF v_denials > 0 AND coalesce((v_stage ->> 'veto')::boolean, true) THEN
    PERFORM approvals.end_request(p_id, 'denied');
    RETURN;
  END IF;
  IF v_approvals >= (v_stage ->> 'quorum')::int THEN
    -- Later, records can name the approvals that counted only if the lapsed ones are known too: people come back.
    INSERT INTO approvals.lapsed_approval (access_request_id, stage, approver_subject)
      SELECT p_id, r.stage, approver_subject FROM approvals.vote WHERE access_request_id = p_id AND stage = r.stage
        AND verdict = 'approve' AND approver_subject = ANY (p_lapsed);
    v_next := approvals.stage_after(r.stages, r.stage, false);
    IF v_next IS NULL THEN
      PERFORM approvals.approve_request(p_id, p_approval_id, r.approval_ms);
    ELSE
      PERFORM approvals.open_stage(p_id, v_next, 'opened');
    END IF;
    RETURN;
  END IF;
  IF v_denials = 0 OR p_electorate IS NULL THEN RETURN; END IF;
  SELECT count(*) INTO v_left FROM unnest(p_electorate) AS e (subject)
    WHERE NOT EXISTS (SELECT FROM approvals.vote v WHERE v.access_request_id = p_id AND e.subject = ANY (v.names)
      AND (r.separate_stages OR v.stage = r.stage));
  IF v_approvals + v_left < (v_stage ->> 'quorum')::int THEN PERFORM approvals.end_request(p_id, 'denied'); END IF;
END $$;

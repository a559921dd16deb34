-- Gives the approvers of the open stage more time: only the end of the stage moves, and never beyond that of the request, which its client
-- was promised. The stage has the most seconds that all its extensions may add. The person may decide in the stage: the caller judged that
-- for `p_judged_stage`. The requester and their delegates may not, by any name, and no exception for confirmations holds here.
-- `p_number` is the number that this extension has in its stage: one more than the person saw. So the same form changes the end once, and
-- of two forms at the same moment the second is refused. Outcomes: extended, repeated (the same form again), extended_before (by another
-- form since), final, stage_over, not_extendable (more than the stage allows), beyond_request, own_request, delegate_of_requester, not_found.
CREATE OR REPLACE FUNCTION approvals.extend_stage(p_request_id text, p_by_issuer text, p_by_subject text, p_by_name text, p_chain text[],
  p_stage int, p_judged_stage int, p_number int, p_seconds int, p_reason text, p_via text,
  p_names text[] DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request; e approvals.extension; v_part text; v_made int; v_added interval; v_now timestamptz;
  v_until timestamptz;
BEGIN
  PERFORM approvals.expire_access_request(p_request_id);
  SELECT * INTO r FROM approvals.access_request WHERE id = p_request_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  v_part := approvals.part_in(p_by_subject || coalesce(p_names, '{}') || coalesce(p_chain, '{}'), r.parties, r.created_at);
  IF v_part IS NOT NULL THEN RETURN v_part; END IF;
  SELECT * INTO e FROM approvals.extension WHERE access_request_id = r.id AND stage = p_stage AND number = p_number;
  IF FOUND THEN
    RETURN CASE WHEN e.by_subject = p_by_subject AND e.ends_after - e.ends_before = p_seconds * interval '1 s'
      THEN 'repeated' ELSE 'extended_before' END;
  END IF;
  IF r.status <> 'pending' THEN RETURN 'final'; END IF;
  v_now := clock_timestamp();
  IF r.stage_ends_at <= v_now OR r.stage IS DISTINCT FROM p_stage OR r.stage IS DISTINCT FROM p_judged_stage THEN RETURN 'stage_over'; END IF;
  SELECT count(*), coalesce(sum(ends_after - ends_before), '0') INTO v_made, v_added FROM approvals.extension
    WHERE access_request_id = r.id AND stage = r.stage;
  IF p_number IS DISTINCT FROM v_made + 1 THEN RETURN 'extended_before'; END IF;
  v_until := r.stage_ends_at + p_seconds * interval '1 s';
  IF (p_seconds > 0 AND v_added + p_seconds * interval '1 s'
      <= (r.stages -> r.stage - 1 ->> 'maxExtensionSeconds')::int * interval '1 s' AND v_until IS NOT NULL) IS NOT TRUE THEN
    RETURN 'not_extendable';
  END IF;
  IF v_until > r.expires_at THEN RETURN 'beyond_request'; END IF;
  INSERT INTO approvals.extension (access_request_id, stage, number, by_issuer, by_subject, by_name, ends_before, ends_after, reason, via, at)
    VALUES (r.id, r.stage, p_number, p_by_issuer, p_by_subject, p_by_name, r.stage_ends_at, v_until, p_reason, p_via, v_now);
  UPDATE approvals.access_request SET stage_ends_at = v_until WHERE id = r.id;
  -- Messages that were sent name the earlier end.
  INSERT INTO approvals.message_outbox (kind, subject_id)
    SELECT channel, id::text FROM approvals.message WHERE access_request_id = r.id AND (begun_at IS NOT NULL OR gathered IS NOT NULL);
  IF FOUND THEN PERFORM pg_notify('approvals_outbox', ''); END IF;
  RETURN 'extended';
END $$;

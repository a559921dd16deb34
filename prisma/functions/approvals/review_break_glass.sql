-- Notes the review of an emergency grant. The reviewer is another person than the one who granted it and the requester. The
-- reviewer is also not a delegate of either, nor a name that stands behind one of these (`p_chain`: names behind the reviewer).
-- Outcomes: reviewed, already_reviewed, own_request (the reviewer's own in one of these ways), not_found.
CREATE OR REPLACE FUNCTION approvals.review_break_glass(p_id text, p_reviewer text, p_chain text[], p_note text, p_names text[] DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE b approvals.break_glass; r approvals.access_request; v_parties text[]; v_names text[] := p_reviewer || coalesce(p_names, '{}');
BEGIN
  SELECT * INTO b FROM approvals.break_glass WHERE access_request_id = p_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  SELECT * INTO STRICT r FROM approvals.access_request WHERE id = p_id;
  v_parties := r.parties || b.granted_by || b.granted_chain;
  IF approvals.part_in(v_names || p_chain, v_parties, r.created_at) IS NOT NULL THEN RETURN 'own_request'; END IF;
  PERFORM 1 FROM approvals.delegation WHERE access_request_id = p_id AND delegator_names && (b.granted_by || b.granted_chain) AND delegate_names && v_names;
  IF FOUND THEN RETURN 'own_request'; END IF;
  IF b.reviewed_at IS NOT NULL THEN RETURN 'already_reviewed'; END IF;
  UPDATE approvals.break_glass SET reviewed_by = p_reviewer, reviewed_at = clock_timestamp(), review_note = p_note
    WHERE access_request_id = p_id;
  RETURN 'reviewed';
END $$;

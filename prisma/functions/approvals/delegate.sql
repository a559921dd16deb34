-- Records a delegation. Outcomes: delegated, past (the end is not in the future), to_oneself (both are one person).
CREATE OR REPLACE FUNCTION approvals.delegate(p_id text, p_delegator_issuer text, p_delegator_subject text, p_delegator_roles text[],
  p_delegator_chain text[], p_delegate_subject text, p_until timestamptz,
  p_delegator_names text[] DEFAULT NULL, p_delegate_names text[] DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := clock_timestamp();
BEGIN
  IF p_until <= v_now THEN RETURN 'past'; END IF;
  IF p_delegator_names && p_delegate_names THEN RETURN 'to_oneself'; END IF;
  INSERT INTO approvals.delegation (id, delegator_issuer, delegator_subject, delegator_roles, delegator_chain, delegate_subject, created_at,
      until, delegator_names, delegate_names)
    VALUES (p_id, p_delegator_issuer, p_delegator_subject,
      coalesce(p_delegator_roles, '{}'), coalesce(p_delegator_chain, '{}'),
      p_delegate_subject, v_now, p_until, coalesce(p_delegator_names, '{}'), coalesce(p_delegate_names, '{}'));
  RETURN 'delegated';
END $$;

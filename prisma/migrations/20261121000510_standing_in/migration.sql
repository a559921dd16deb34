-- Whoever is away lets somebody else decide in their place, for a time. What was so decided counts as theirs.

-- Outcomes: delegated, or past where the end is not in the future.
CREATE FUNCTION approvals.delegate(p jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := clock_timestamp();
BEGIN
  IF (p ->> 'until')::timestamptz <= v_now THEN RETURN 'past'; END IF;
  INSERT INTO approvals.delegation (id, delegator_issuer, delegator_subject, delegator_roles, delegator_chain, delegate_subject, created_at,
      until)
    VALUES (p ->> 'id', p ->> 'delegator_issuer', p ->> 'delegator_subject',
      ARRAY(SELECT jsonb_array_elements_text(p -> 'delegator_roles')), ARRAY(SELECT jsonb_array_elements_text(p -> 'delegator_chain')),
      p ->> 'delegate_subject', v_now, (p ->> 'until')::timestamptz);
  RETURN 'delegated';
END $$;

-- Ends a delegation of this person. Outcomes: revoked (also when it was before), not_found.
CREATE FUNCTION approvals.revoke_delegation(p_id text, p_delegator text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM approvals.delegation WHERE id = p_id AND delegator_subject = p_delegator FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  UPDATE approvals.delegation SET revoked_at = clock_timestamp() WHERE id = p_id AND revoked_at IS NULL;
  RETURN 'revoked';
END $$;

-- Subjects to whom a party to the request delegated, by whichever name, at any time since it was opened: who may decide for somebody
-- decides nothing that they asked for, and a delegation that is revoked in between changes nothing about that.
CREATE FUNCTION approvals.delegates_of(p_parties text[], p_since timestamptz) RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT coalesce(array_agg(DISTINCT delegate_subject), '{}') FROM approvals.delegation
    WHERE (delegator_subject = ANY (p_parties) OR delegator_chain && p_parties) AND until > p_since AND (revoked_at IS NULL OR revoked_at > p_since)
$$;

-- The part that any of these names has in what these parties asked for since then: own_request, delegate_of_requester, or NULL when none
-- has. The one rule of who may have no say, for votes of every kind, emergency grants and their review; `partIn` is the same rule in the domain.
CREATE FUNCTION approvals.part_in(p_names text[], p_parties text[], p_since timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_names && p_parties THEN 'own_request'
    WHEN p_names && approvals.delegates_of(p_parties, p_since) THEN 'delegate_of_requester' END
$$;

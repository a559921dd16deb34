-- Subjects to whom a party to the request delegated, by whichever name, at any time since it was opened: who may decide for somebody
-- decides nothing that they asked for, and a delegation that is revoked in between changes nothing about that.
CREATE OR REPLACE FUNCTION approvals.delegates_of(p_parties text[], p_since timestamptz) RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT coalesce(array_agg(DISTINCT delegate_subject), '{}') FROM approvals.delegation
    WHERE (delegator_subject = ANY (p_parties) OR delegator_chain && p_parties) AND until > p_since AND (revoked_at IS NULL OR revoked_at > p_since)
$$;

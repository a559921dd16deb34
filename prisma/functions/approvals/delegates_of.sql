-- Returns the names to whom a party to the request delegated, by any of its names, at any time since the request was opened. A
-- person who may decide for another decides nothing that the other asked for. A delegation that is revoked in between does not
-- change that. A request that was handed over says nothing about others.
CREATE OR REPLACE FUNCTION approvals.delegates_of(p_parties text[], p_since timestamptz) RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT coalesce(array_agg(DISTINCT name), '{}') FROM approvals.delegation d, unnest(d.delegate_names) AS name
    WHERE (delegator_names && p_parties OR delegator_chain && p_parties) AND access_request_id IS NULL AND until > p_since AND (revoked_at IS NULL OR revoked_at > p_since)
$$;

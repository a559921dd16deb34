-- Returns the part that any of these names has in a request of these parties since then: own_request, delegate_of_requester, or
-- NULL. All names are in the form in which names of people are compared (`nameKey` in the domain). This is the one rule of who may not decide, for votes of every kind, emergency grants and their review. `partIn` is the
-- same rule in the domain.
CREATE OR REPLACE FUNCTION approvals.part_in(p_names text[], p_parties text[], p_since timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_names && p_parties THEN 'own_request'
    WHEN p_names && approvals.delegates_of(p_parties, p_since) THEN 'delegate_of_requester' END
$$;

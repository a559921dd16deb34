-- Says whether a person of these names has a voice in a vote that keeps them from another in the open stage: their own, one that they cast
-- for another person, or one that a program cast for them. `earlierVote` is the same rule in the domain.
CREATE OR REPLACE FUNCTION approvals.has_spoken(r approvals.access_request, p_names text[]) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM approvals.vote v WHERE v.access_request_id = r.id AND v.counts_in IN (0, r.stage)
    AND v.names && p_names)
$$;

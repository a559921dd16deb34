-- Returns all names of those who have a voice in a vote: those that its caller knows, in the form in which names of people are compared
-- (`nameKey` in the domain), and in any case those in the vote.
CREATE OR REPLACE FUNCTION approvals.names_in_vote(p_names text[], p_approver text, p_cast_by text, p_actors text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(DISTINCT name) FROM unnest(p_names || ARRAY[p_approver, p_cast_by] || p_actors) AS name WHERE name IS NOT NULL
$$;

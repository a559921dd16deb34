-- Says whether a grant on a request like this one ends when its giver signs out. The stage has it from its template.
CREATE OR REPLACE FUNCTION approvals.grants_end_at_sign_out(r approvals.access_request) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(r.stages #> '{0,grantsEndAtSignOut}' = 'true', false)
$$;

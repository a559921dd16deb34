-- Whether the stage that is open has a resolver which did not answer yet.
CREATE OR REPLACE FUNCTION approvals.awaits_resolver(r approvals.access_request) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT r.stages -> r.stage - 1 ->> 'automatic' IS NOT NULL AND NOT EXISTS
    (SELECT FROM approvals.resolver_answer WHERE access_request_id = r.id AND stage = r.stage)
$$;

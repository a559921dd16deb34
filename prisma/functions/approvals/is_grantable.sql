-- Says whether a grant can be given on a request like this one, and can approve it. Policy allows it, one approval by a single
-- person is enough, and the denial names the description of the tool and the agent. A stage that demands a passkey or the requester
-- needs the person each time. An item of a bundle is decided by people.
CREATE OR REPLACE FUNCTION approvals.is_grantable(r approvals.access_request) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT r.grant_seconds IS NOT NULL AND r.tool_digest IS NOT NULL AND r.requester_client IS NOT NULL AND r.bundle_id IS NULL
    AND r.stage = 1 AND approvals.stage_after(r.stages, 1, false) IS NULL AND r.stages #> '{0,quorum}' = '1'
    AND r.stages #> '{0,passkey}' IS DISTINCT FROM 'true' AND r.stages #> '{0,approvers,requester}' IS NULL
$$;

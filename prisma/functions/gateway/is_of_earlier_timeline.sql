-- Says whether a call was claimed before the server began its timeline. After a failover to a server that was behind, the permit
-- to send may be among the lost rows, however few they are.
CREATE OR REPLACE FUNCTION gateway.is_of_earlier_timeline(p_call uuid) RETURNS boolean LANGUAGE sql AS $$
  SELECT coalesce((SELECT timeline <> gateway.timeline() FROM gateway.execution_claim WHERE gated_call_id = p_call AND released_at IS NULL), false);
$$;

-- Whether a call was claimed before the server began its timeline. After a failover to a server that was behind, its permit to send may
-- be among what was lost, however little that is.
CREATE OR REPLACE FUNCTION gateway.is_of_earlier_timeline(p_call uuid) RETURNS boolean LANGUAGE sql AS $$
  SELECT coalesce((SELECT timeline <> gateway.timeline() FROM gateway.execution_claim WHERE gated_call_id = p_call), false);
$$;

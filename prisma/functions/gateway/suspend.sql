-- Stops all executions because of a finding. The first finding stays.
CREATE OR REPLACE FUNCTION gateway.suspend(p_found text) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.epoch SET frozen = true, found = p_found WHERE gateway.fence_state() = 'whole';
$$;

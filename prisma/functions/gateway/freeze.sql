-- Begins to reconcile, in an epoch that is later than the present one and than the latest that the engine knows.
CREATE OR REPLACE FUNCTION gateway.freeze(p_known int DEFAULT 0) RETURNS int LANGUAGE sql AS $$
  UPDATE gateway.epoch SET number = greatest(number + (found IS DISTINCT FROM 'reconciling')::int, p_known + 1),
    frozen = true, found = 'reconciling' RETURNING number;
$$;

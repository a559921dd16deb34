-- Carries out every deadline that has passed, so that those who wait are told; bundle by bundle, as they have to be locked.
-- Answers how many requests had one.
CREATE OR REPLACE FUNCTION approvals.expire_due(p_limit int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_id text; v_count int := 0;
BEGIN
  FOR v_id IN SELECT id FROM
      (SELECT id, bundle_id, least(expires_at, stage_ends_at) AS due FROM approvals.access_request
        WHERE status = 'pending' AND least(expires_at, stage_ends_at) <= now()
        ORDER BY least(expires_at, stage_ends_at) LIMIT p_limit FOR UPDATE SKIP LOCKED) AS overdue
      ORDER BY bundle_id NULLS FIRST, due LOOP
    PERFORM approvals.expire_access_request(v_id);
    v_count := v_count + 1;
  END LOOP;
  RETURN v_count;
END $$;

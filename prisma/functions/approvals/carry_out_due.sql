-- Carries out every deadline that has passed and queues every reminder that is due, bundle by bundle, as the order of locks
-- demands. Returns each request, with the reason if it failed. A request that failed stays as it was, and holds up no other.
-- Several processes may run this at once: each skips the rows that the others hold.
CREATE OR REPLACE FUNCTION approvals.carry_out_due(p_limit int) RETURNS TABLE (request_id text, failure text) LANGUAGE plpgsql AS $$
BEGIN
  FOR request_id IN SELECT id FROM
      (SELECT id, bundle_id, least(expires_at, stage_ends_at, remind_at) AS due FROM approvals.access_request
        WHERE status = 'pending' AND least(expires_at, stage_ends_at, remind_at) <= now()
        ORDER BY least(expires_at, stage_ends_at, remind_at) LIMIT p_limit FOR UPDATE SKIP LOCKED) AS due
      ORDER BY bundle_id NULLS FIRST, due LOOP
    failure := NULL;
    BEGIN
      IF approvals.expire_access_request(request_id) = 'pending' THEN PERFORM approvals.remind(request_id); END IF;
    EXCEPTION WHEN OTHERS THEN failure := SQLERRM;
    END;
    RETURN NEXT;
  END LOOP;
END $$;

-- Carries out every deadline that has passed and queues every reminder that is due, bundle by bundle, as the order of locks
-- demands. Returns each request, with the reason if it failed. A request that failed stays as it was. It is tried again after as
-- long as it is overdue, between a second and a minute, so that requests that always fail hold up no others. Several processes may
-- run this at once: each skips the rows that the others hold.
CREATE OR REPLACE FUNCTION approvals.carry_out_due(p_limit int) RETURNS TABLE (request_id text, failure text) LANGUAGE plpgsql AS $$
DECLARE v_due timestamptz;
BEGIN
  FOR request_id, v_due IN SELECT id, due FROM
      (SELECT id, bundle_id, least(expires_at, stage_ends_at, remind_at) AS due FROM approvals.access_request
        WHERE status = 'pending' AND greatest(least(expires_at, stage_ends_at, remind_at), retry_at) <= now()
        ORDER BY greatest(least(expires_at, stage_ends_at, remind_at), retry_at) LIMIT p_limit FOR UPDATE SKIP LOCKED) AS due
      ORDER BY bundle_id NULLS FIRST, due LOOP
    failure := NULL;
    BEGIN
      IF approvals.expire_access_request(request_id) = 'pending' THEN PERFORM approvals.remind(request_id); END IF;
    EXCEPTION WHEN OTHERS THEN
      failure := SQLERRM;
      BEGIN
        UPDATE approvals.access_request SET retry_at = clock_timestamp()
          + least(greatest(clock_timestamp() - v_due, interval '1 s'), interval '1 minute') WHERE id = request_id;
      EXCEPTION WHEN OTHERS THEN NULL; -- The row itself cannot be changed. The other requests go on.
      END;
    END;
    RETURN NEXT;
  END LOOP;
END $$;

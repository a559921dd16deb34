-- Carries out every deadline that has passed and queues every reminder that is due, bundle by bundle, as they have to be locked.
-- Answers with each request, and why it failed: it stays as it was then, and holds up no other. Several may run at once: each
-- leaves to the others what they hold.
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

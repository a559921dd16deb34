-- Queues the callback of a request that has just ended, if its client asked for one.
CREATE OR REPLACE FUNCTION approvals.announce_end(p_id text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- No list of events means all of them.
  INSERT INTO approvals.outbox (kind, subject_id) SELECT 'callback', id FROM approvals.access_request
    WHERE id = p_id AND callback_endpoint IS NOT NULL AND (callback_events IS NULL OR status = ANY (callback_events));
  IF FOUND THEN PERFORM pg_notify('approvals_outbox', ''); END IF;
  PERFORM approvals.announce_bundle(bundle_id) FROM approvals.access_request WHERE id = p_id AND bundle_id IS NOT NULL;
  PERFORM approvals.enqueue_notice(p_id, 'ended', 1);
END $$;

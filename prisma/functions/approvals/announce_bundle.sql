-- Queues the callback of a bundle whose last item has ended. An item has just ended, and its row is locked. The lock on the
-- bundle makes the last two items end one after the other, so that one of them sees that the other has ended. A statement that
-- locks several rows locks the items first, and the bundles last, in the order of their ids, so that no two statements wait for
-- each other.
CREATE OR REPLACE FUNCTION approvals.announce_bundle(p_id text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM approvals.bundle WHERE id = p_id AND callback_endpoint IS NOT NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO approvals.outbox (kind, subject_id) SELECT 'callback', p_id
    WHERE NOT EXISTS (SELECT FROM approvals.access_request WHERE bundle_id = p_id AND status = 'pending');
  IF FOUND THEN PERFORM pg_notify('approvals_outbox', ''); END IF;
END $$;

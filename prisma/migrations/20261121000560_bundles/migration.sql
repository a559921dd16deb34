-- How access requests that were submitted together come about, end, and are given up. Each is decided like any other. Whoever
-- locks several rows locks the items first, and the bundles last, in the order of their ids: so nobody waits in a circle.

CREATE FUNCTION approvals.guard_bundle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'bundle % cannot change', OLD.id USING ERRCODE = 'CS002';
END $$;
CREATE TRIGGER bundle_guard BEFORE UPDATE ON approvals.bundle FOR EACH ROW EXECUTE FUNCTION approvals.guard_bundle();

-- Opens all items of a bundle or none, and with them its key and every denial. They are inserted in the order of their denials: two
-- bundles with the same ones in another order would wait for each other. Outcomes: created, or those of opened_before.
CREATE FUNCTION approvals.create_bundle(p jsonb) RETURNS TABLE (outcome text, id text) LANGUAGE plpgsql AS $$
DECLARE v_item jsonb;
BEGIN
  BEGIN
    INSERT INTO approvals.bundle (id, submitted_by, callback_endpoint, callback_state, callback_events)
      SELECT b.id, b.submitted_by, b.callback_endpoint, b.callback_state, b.callback_events
      FROM jsonb_populate_record(NULL::approvals.bundle, p) b;
    FOR v_item IN SELECT item FROM jsonb_array_elements(p -> 'items') AS i (item)
        ORDER BY item ->> 'token_jti', (item ->> 'position')::int LOOP
      IF approvals.insert_access_request(v_item || jsonb_build_object('bundle_id', p ->> 'id')) IS NULL THEN
        RAISE unique_violation;
      END IF;
    END LOOP;
    RETURN QUERY SELECT 'created', p ->> 'id';
    RETURN;
  EXCEPTION WHEN unique_violation THEN NULL; -- nothing of it is left
  END;
  RETURN QUERY SELECT b.outcome, b.id FROM approvals.opened_before(p) b;
END $$;

-- Queues the callback of a bundle whose last item has ended. An item has just ended, and its row is locked; the lock on the bundle
-- makes the last two end one after the other, so that one of them sees that the other has.
CREATE FUNCTION approvals.announce_bundle(p_id text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM approvals.bundle WHERE id = p_id AND callback_endpoint IS NOT NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO approvals.outbox (kind, subject_id) SELECT 'callback', p_id
    WHERE NOT EXISTS (SELECT FROM approvals.access_request WHERE bundle_id = p_id AND status = 'pending');
  IF FOUND THEN PERFORM pg_notify('approvals_outbox', ''); END IF;
END $$;

-- Gives up those items of a bundle that are open; what has ended stays. Outcomes: cancelled, final (all had ended), not_found.
CREATE FUNCTION approvals.cancel_bundle(p_id text, p_client_id text, p_note jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_item text; v_outcome text := 'final';
BEGIN
  PERFORM 1 FROM approvals.access_request WHERE bundle_id = p_id AND client_id = p_client_id ORDER BY position FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  FOR v_item IN SELECT id FROM approvals.access_request WHERE bundle_id = p_id ORDER BY position LOOP
    IF approvals.cancel_access_request(v_item, p_client_id, p_note) = 'cancelled' THEN v_outcome := 'cancelled'; END IF;
  END LOOP;
  RETURN v_outcome;
END $$;

-- Opens all items of a bundle or none, and with them its key and every denial. They are inserted in the order of their denials: two
-- bundles with the same ones in another order would wait for each other. Outcomes: created, or those of opened_before.
CREATE OR REPLACE FUNCTION approvals.create_bundle(p jsonb) RETURNS TABLE (outcome text, id text) LANGUAGE plpgsql AS $$
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

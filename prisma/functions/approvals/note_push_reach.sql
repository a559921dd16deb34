-- Notes whether the name of the push service of a browser led to an address that may be called. Returns whether notices still go there:
-- they end after a day without one. A later subscription begins anew.
CREATE OR REPLACE FUNCTION approvals.note_push_reach(p_endpoint text, p_person text, p_is_reached boolean)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_since timestamptz;
BEGIN
  UPDATE approvals.push_subscription
    SET nowhere_since = CASE WHEN p_is_reached THEN NULL ELSE COALESCE(nowhere_since, clock_timestamp()) END
    WHERE endpoint = p_endpoint AND person = p_person RETURNING nowhere_since INTO v_since;
  IF NOT FOUND THEN RETURN false; END IF;
  IF v_since > clock_timestamp() - interval '1 day' OR v_since IS NULL THEN RETURN true; END IF;
  DELETE FROM approvals.push_subscription WHERE endpoint = p_endpoint AND person = p_person;
  RETURN false;
END $$;

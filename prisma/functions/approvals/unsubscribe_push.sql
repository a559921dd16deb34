-- Ends notices to this person in a browser, if they still go there.
CREATE OR REPLACE FUNCTION approvals.unsubscribe_push(p_endpoint text, p_person text) RETURNS void LANGUAGE sql AS $$
  DELETE FROM approvals.push_subscription WHERE endpoint = p_endpoint AND person = p_person;
$$;

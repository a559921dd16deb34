-- Keeps that notices to this person go to a browser. A browser that was another person's is theirs from now on, and one that is known
-- counts as new. A person has at most ten: the oldest ones go.
CREATE OR REPLACE FUNCTION approvals.subscribe_push(p_endpoint text, p_person text, p_p256dh text, p_auth text, p_server_key text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- Subscriptions of one person wait for each other, so that the limit holds.
  PERFORM pg_advisory_xact_lock(hashtextextended('push ' || p_person, 0));
  INSERT INTO approvals.push_subscription (endpoint, person, p256dh, auth, server_key)
    VALUES (p_endpoint, p_person, p_p256dh, p_auth, p_server_key)
    ON CONFLICT (endpoint) DO UPDATE SET person = EXCLUDED.person, p256dh = EXCLUDED.p256dh, auth = EXCLUDED.auth,
      server_key = EXCLUDED.server_key, subscribed_at = clock_timestamp(), nowhere_since = NULL;
  -- The person is compared again, because another person may take one over at this moment.
  DELETE FROM approvals.push_subscription WHERE person = p_person AND endpoint IN (
    SELECT endpoint FROM approvals.push_subscription WHERE person = p_person ORDER BY subscribed_at DESC, id DESC OFFSET 10);
END $$;

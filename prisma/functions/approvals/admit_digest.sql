-- When a digest that its person hears may go out: NULL if it may now, and then it counts. The digests of a channel are ten minutes
-- apart, and there are at most 18 messages in an hour in all channels together. If a request that was not told yet ends within a quarter of
-- an hour, three minutes and 20 messages are enough. `p_after` is the greatest number that was told. It names the digest: a repeated
-- attempt gets the same answer while its first one is remembered.
CREATE OR REPLACE FUNCTION approvals.admit_digest(p_message bigint, p_after bigint) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE m approvals.message; v_last timestamptz; v_near timestamptz; v_is_near boolean; v_next timestamptz; v_told text := 'after ' || p_after;
BEGIN
  SELECT * INTO STRICT m FROM approvals.message WHERE id = p_message;
  PERFORM approvals.lock_recipient(m.person);
  IF EXISTS (SELECT FROM approvals.alert WHERE message_id = p_message AND told = v_told) THEN RETURN NULL; END IF;
  SELECT max(at) INTO v_last FROM approvals.alert WHERE message_id = p_message;
  SELECT min(least(r.expires_at, r.stage_ends_at)) - interval '15 min' INTO v_near
    FROM approvals.message g JOIN approvals.access_request r ON r.id = g.access_request_id
    WHERE g.person = m.person AND g.channel = m.channel AND g.gathered > p_after AND r.status = 'pending';
  v_is_near := coalesce(v_near <= clock_timestamp(), false);
  v_next := greatest(
    v_last + CASE WHEN v_is_near THEN interval '3 min' ELSE interval '10 min' END,
    -- When the message that takes the last room was an hour ago.
    (SELECT at + interval '1 hour' FROM approvals.alert WHERE person = m.person ORDER BY at DESC
      OFFSET CASE WHEN v_is_near THEN 19 ELSE 17 END LIMIT 1));
  IF (v_next > clock_timestamp()) IS NOT TRUE THEN
    INSERT INTO approvals.alert (message_id, told, person) VALUES (p_message, v_told, m.person);
    RETURN NULL;
  END IF;
  RETURN CASE WHEN v_is_near THEN v_next ELSE least(v_next, v_near) END;
END $$;

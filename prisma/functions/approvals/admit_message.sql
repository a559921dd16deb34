-- Whether a message that a person hears may go out now, as a message of its own. There is room for messages about four requests in ten
-- minutes, and for twelve messages in an hour, in all channels together. Without room, a message that asks something (`p_gathers`)
-- counts in the digest of the person from now on. `p_key` names what the message says: a repeated attempt gets the same answer while
-- its first one is remembered.
CREATE OR REPLACE FUNCTION approvals.admit_message(p_message bigint, p_key text, p_gathers boolean) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE m approvals.message; v_all int; v_others int;
BEGIN
  SELECT * INTO STRICT m FROM approvals.message WHERE id = p_message;
  PERFORM approvals.lock_recipient(m.person);
  IF NOT EXISTS (SELECT FROM approvals.alert WHERE message_id = p_message AND told = p_key) THEN
    SELECT count(*), count(DISTINCT o.access_request_id) FILTER (WHERE a.at > clock_timestamp() - interval '10 min'
        AND o.access_request_id <> m.access_request_id) INTO v_all, v_others
      FROM approvals.alert a JOIN approvals.message o ON o.id = a.message_id WHERE a.person = m.person;
    IF v_all >= 12 OR v_others >= 4 THEN
      IF p_gathers THEN
        UPDATE approvals.message SET gathered = nextval('approvals.gathering') WHERE id = p_message;
        -- A burst is one digest.
        PERFORM approvals.schedule_digest(m.person, m.channel, clock_timestamp() + interval '30 s');
      END IF;
      RETURN false;
    END IF;
    INSERT INTO approvals.alert (message_id, told, person) VALUES (p_message, p_key, m.person);
  END IF;
  PERFORM approvals.leave_digest(p_message);
  RETURN true;
END $$;

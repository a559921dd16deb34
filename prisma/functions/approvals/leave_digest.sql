-- A message no longer counts in the digest of its person, which follows. A repetition changes nothing.
CREATE OR REPLACE FUNCTION approvals.leave_digest(p_message bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE approvals.message SET gathered = NULL WHERE id = p_message AND gathered IS NOT NULL;
  IF FOUND THEN
    PERFORM approvals.schedule_digest(person, channel, clock_timestamp() + interval '30 s') FROM approvals.message WHERE id = p_message;
  END IF;
END $$;

-- Makes the messages to a person wait for each other until the end of the transaction, and forgets what the person heard more than an
-- hour ago.
CREATE OR REPLACE FUNCTION approvals.lock_recipient(p_person text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO approvals.recipient (person) VALUES (p_person) ON CONFLICT DO NOTHING;
  PERFORM 1 FROM approvals.recipient WHERE person = p_person FOR UPDATE;
  DELETE FROM approvals.alert WHERE person = p_person AND at <= clock_timestamp() - interval '1 hour';
END $$;

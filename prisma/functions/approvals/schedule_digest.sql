-- Has the digest of a person in a channel looked at again at an instant, unless it is anyway by then. A row that failed does not count,
-- because it may be in hand and have looked already. There are at most five rows, of which the failed ones are tried again.
CREATE OR REPLACE FUNCTION approvals.schedule_digest(p_person text, p_channel text, p_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_id text;
BEGIN
  INSERT INTO approvals.message (person, channel) VALUES (p_person, p_channel) ON CONFLICT DO NOTHING;
  SELECT id INTO v_id FROM approvals.message WHERE access_request_id IS NULL AND person = p_person AND channel = p_channel;
  INSERT INTO approvals.message_outbox (kind, subject_id, available_at) SELECT p_channel, v_id, p_at
    WHERE NOT EXISTS (SELECT FROM approvals.message_outbox
        WHERE kind = p_channel AND subject_id = v_id AND attempts = 0 AND available_at <= p_at)
      AND (SELECT count(*) FROM approvals.message_outbox WHERE kind = p_channel AND subject_id = v_id) < 5;
END $$;

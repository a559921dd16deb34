-- Keeps whom a notice concerns, once, and queues what they are told: the signed message, if `p_signed`, and one message for each
-- person and channel. `p_messages` are objects with `person`, `channel` and `due_at`. Messages about this request that have been
-- sent to others, or count in a digest, follow it at once, because they may have become wrong. A repetition changes nothing, so the answer to a lost
-- commit is the same call.
CREATE OR REPLACE FUNCTION approvals.address_notice(p_notice bigint, p_recipients text[], p_signed boolean, p_messages jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_request text; v_event text;
BEGIN
  SELECT access_request_id, event INTO v_request, v_event FROM approvals.notice WHERE id = p_notice;
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO approvals.addressed_notice (notice_id, recipients) VALUES (p_notice, p_recipients) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN; END IF;
  IF p_signed THEN INSERT INTO approvals.message_outbox (kind, subject_id) VALUES ('webhook', p_notice::text); END IF;
  INSERT INTO approvals.message (access_request_id, person, channel)
    SELECT v_request, person, channel FROM jsonb_to_recordset(p_messages) AS m (person text, channel text) ON CONFLICT DO NOTHING;
  INSERT INTO approvals.message_outbox (kind, subject_id, available_at)
    SELECT m.channel, m.id::text, coalesce(n.due_at, clock_timestamp()) FROM approvals.message m
      LEFT JOIN jsonb_to_recordset(p_messages) AS n (person text, channel text, due_at timestamptz) USING (person, channel)
      WHERE m.access_request_id = v_request AND (n.person IS NOT NULL OR (m.begun_at IS NOT NULL OR m.gathered IS NOT NULL) AND v_event <> 'reminder');
  PERFORM pg_notify('approvals_outbox', '');
END $$;

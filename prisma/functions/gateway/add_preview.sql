-- Puts a further preview of a call on record, while people can decide it. The lock of the call decides between a preview and the end of
-- the call, so the record of the end has each preview that approvers were shown. Outcomes: kept, over, full, taken (another process
-- recorded one with this number).
CREATE OR REPLACE FUNCTION gateway.add_preview(p_call uuid, p_number int, p_sealed_preview text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c gateway.gated_call;
BEGIN
  SELECT * INTO STRICT c FROM gateway.gated_call WHERE id = p_call FOR UPDATE;
  IF c.state <> 'pending' OR c.due_at <= clock_timestamp() THEN RETURN 'over'; END IF;
  IF p_number > 50 THEN RETURN 'full'; END IF;
  INSERT INTO gateway.preview (gated_call_id, number, sealed_preview) VALUES (p_call, p_number, p_sealed_preview)
    ON CONFLICT DO NOTHING;
  RETURN CASE WHEN FOUND THEN 'kept' ELSE 'taken' END;
END $$;

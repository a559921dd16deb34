-- Says why a submission could not be opened, by its client, key and body. Outcomes: repeated, conflict (the key stands for
-- another body), replayed (the denial was used before).
CREATE OR REPLACE FUNCTION approvals.opened_before(p_client_id text, p_idempotency_key text, p_body_digest text)
RETURNS TABLE (outcome text, id text, expires_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE v_found approvals.access_request;
BEGIN
  SELECT * INTO v_found FROM approvals.access_request a
    WHERE a.client_id = p_client_id AND a.idempotency_key = p_idempotency_key;
  IF NOT FOUND THEN RETURN QUERY SELECT 'replayed', NULL::text, NULL::timestamptz; RETURN; END IF;
  RETURN QUERY SELECT CASE WHEN v_found.body_digest = p_body_digest THEN 'repeated' ELSE 'conflict' END,
    coalesce(v_found.bundle_id, v_found.id), v_found.expires_at;
END $$;

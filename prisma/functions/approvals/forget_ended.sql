-- Forgets what nobody may ask for any more: keys a day after the end and the deadline (ARAP-IDM-06), whole requests a day
-- after they could last be read, and never before an emergency grant was reviewed; the key of a bundle and all its items when
-- that is so for each of them. Answers how many of those that were more.
CREATE OR REPLACE FUNCTION approvals.forget_ended(p_limit int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_day timestamptz := clock_timestamp() - interval '1 day'; v_keys int; v_requests int; v_bundles int;
BEGIN
  UPDATE approvals.access_request SET idempotency_key = NULL WHERE id IN (
    SELECT id FROM approvals.access_request k WHERE k.idempotency_key IS NOT NULL AND k.ended_at <= v_day
      AND k.expires_at <= clock_timestamp()
      AND NOT EXISTS (SELECT FROM approvals.access_request i WHERE i.bundle_id = k.bundle_id
        AND (i.ended_at <= v_day AND i.expires_at <= clock_timestamp()) IS NOT TRUE)
      LIMIT p_limit FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS v_keys = ROW_COUNT;
  DELETE FROM approvals.access_request WHERE id IN (
    SELECT r.id FROM approvals.access_request r WHERE r.bundle_id IS NULL AND r.ended_at <= v_day
      AND approvals.is_forgettable(r, v_day)
      LIMIT p_limit FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS v_requests = ROW_COUNT;
  DELETE FROM approvals.bundle WHERE id IN (
    SELECT b.id FROM approvals.bundle b JOIN approvals.access_request f ON f.bundle_id = b.id AND f.position = 1
      WHERE f.ended_at <= v_day AND NOT EXISTS (
        SELECT FROM approvals.access_request r WHERE r.bundle_id = b.id AND NOT approvals.is_forgettable(r, v_day))
      LIMIT p_limit FOR UPDATE OF b SKIP LOCKED);
  GET DIAGNOSTICS v_bundles = ROW_COUNT;
  RETURN greatest(v_keys, v_requests, v_bundles);
END $$;

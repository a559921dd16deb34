-- Forgets keys and requests that can no longer be asked for. A key goes a day after the end and the deadline (ARAP-IDM-06). A
-- whole request goes a day after it could last be read, and never before its emergency grant was reviewed. The key of a bundle
-- and all its items go when that is true of each item. A grant goes after the last request that it is about. Returns the largest of
-- the numbers of forgotten keys, requests, bundles and grants.
CREATE OR REPLACE FUNCTION approvals.forget_ended(p_limit int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_day timestamptz := clock_timestamp() - interval '1 day'; v_keys int; v_requests int; v_bundles int; v_grants int;
BEGIN
  DELETE FROM approvals.passkey_challenge WHERE nonce IN (
    SELECT nonce FROM approvals.passkey_challenge WHERE expires_at <= now() LIMIT p_limit FOR UPDATE SKIP LOCKED);
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
  DELETE FROM approvals."grant" WHERE id IN (
    SELECT g.id FROM approvals."grant" g WHERE g.expires_at <= v_day
      AND NOT EXISTS (SELECT FROM approvals.access_request r WHERE r.id = g.access_request_id)
      AND NOT EXISTS (SELECT FROM approvals.vote v WHERE v.grant_id = g.id)
      LIMIT p_limit FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS v_grants = ROW_COUNT;
  RETURN greatest(v_keys, v_requests, v_bundles, v_grants);
END $$;

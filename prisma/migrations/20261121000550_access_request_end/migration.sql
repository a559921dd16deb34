-- How an access request is given up, how its approval is taken back, and how it is forgotten.

-- Gives a request up: the client whose it is, or (NULL) a person who may decide about it. The note says who, and why.
-- Outcomes: cancelled, final (it had ended), not_found.
CREATE FUNCTION approvals.cancel_access_request(p_id text, p_client_id text, p_note jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM approvals.access_request WHERE id = p_id AND client_id = coalesce(p_client_id, client_id) FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  IF approvals.expire_access_request(p_id) <> 'pending' THEN RETURN 'final'; END IF;
  UPDATE approvals.access_request SET status = 'cancelled', ended_at = clock_timestamp(), end_note = p_note WHERE id = p_id;
  PERFORM approvals.announce_end(p_id);
  RETURN 'cancelled';
END $$;

-- Approvals that were taken back. The request stays approved, as ends never change; what an approval is still good for is
-- the PDP's to decide, and it asks for these.
CREATE TABLE approvals.revocation (
  access_request_id text PRIMARY KEY REFERENCES approvals.access_request ON DELETE CASCADE,
  by_issuer         text NOT NULL,
  by_subject        text NOT NULL,
  reason            text,
  via               text NOT NULL CHECK (via IN ('inbox','api')),
  at                timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TRIGGER revocation_immutable BEFORE UPDATE OR DELETE ON approvals.revocation
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();

-- Takes an approval back. Outcomes: revoked, repeated (it was taken back before), final (there is none, or it is over),
-- not_found.
CREATE FUNCTION approvals.revoke_approval(p jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r approvals.access_request;
BEGIN
  SELECT * INTO r FROM approvals.access_request WHERE id = p ->> 'request_id' FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  IF EXISTS (SELECT FROM approvals.revocation WHERE access_request_id = r.id) THEN RETURN 'repeated'; END IF;
  IF r.status <> 'approved' OR r.approved_until <= clock_timestamp() THEN RETURN 'final'; END IF;
  INSERT INTO approvals.revocation (access_request_id, by_issuer, by_subject, reason, via)
    VALUES (r.id, p ->> 'by_issuer', p ->> 'by_subject', p ->> 'reason', p ->> 'via');
  RETURN 'revoked';
END $$;

-- Until when the task of an ended request can be read. Not before its deadline and the end of its approval, either.
CREATE FUNCTION approvals.readable_until(r approvals.access_request) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT greatest(r.expires_at, r.approved_until, r.ended_at + r.keep_ms * interval '1 ms')
$$;

-- Whether it ended, could last be read before that instant, and has no emergency grant that nobody reviewed.
CREATE FUNCTION approvals.is_forgettable(r approvals.access_request, p_before timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(r.ended_at <= p_before, false) AND approvals.readable_until(r) <= p_before
    AND NOT EXISTS (SELECT FROM approvals.break_glass b WHERE b.access_request_id = r.id AND b.reviewed_at IS NULL)
$$;

-- Forgets what nobody may ask for any more: keys a day after the end and the deadline (ARAP-IDM-06), whole requests a day
-- after they could last be read, and never before an emergency grant was reviewed; the key of a bundle and all its items when
-- that is so for each of them. Answers how many of those that were more.
CREATE FUNCTION approvals.forget_ended(p_limit int) RETURNS int LANGUAGE plpgsql AS $$
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

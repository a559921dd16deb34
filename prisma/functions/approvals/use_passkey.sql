-- Whether a passkey confirms the approval of the open stage of a request, whose row the caller has locked. NULL if it does: then its
-- counter is kept, and the value that it answered is used up. The caller has verified the signature over `challenge`, a member of
-- `p_assertion`. This function compares what was signed with the request as it is now. Otherwise it returns the reason:
-- passkey_needed (there is none, or the vote did not come from the page), passkey_invalid (another vote was signed), passkey_over
-- (the page was used before, or its time is over), passkey_unknown (not registered for the voter, or removed), passkey_copied (the
-- counter did not grow, so there is a copy of it: it is removed).
-- @see Web Authentication Level 3, section 6.1.1, Signature Counter Considerations
CREATE OR REPLACE FUNCTION approvals.use_passkey(r approvals.access_request, p_approver text, p_voice text, p_via text,
  p_assertion jsonb, p_counter bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_call text; k approvals.passkey;
BEGIN
  IF p_assertion IS NULL OR p_via <> 'inbox' THEN RETURN 'passkey_needed'; END IF;
  v_call := 'sha-256:' || encode(sha256(convert_to((p_assertion ->> 'nonce') || '.' || r.call_digest, 'UTF8')), 'hex');
  IF (p_assertion ->> 'challenge')::jsonb IS DISTINCT FROM jsonb_build_object('approver', p_approver, 'call', v_call,
      'generation', r.generation, 'request', r.id, 'signer', p_voice, 'stage', r.stage, 'type', 'countersign/vote',
      'verdict', 'approve') THEN
    RETURN 'passkey_invalid';
  END IF;
  IF NOT approvals.spend_passkey_challenge(p_assertion ->> 'nonce', p_voice, r.id) THEN RETURN 'passkey_over'; END IF;
  SELECT * INTO k FROM approvals.passkey WHERE id = p_assertion ->> 'credentialId' FOR UPDATE;
  IF NOT FOUND OR k.subject <> p_voice OR k.public_key IS DISTINCT FROM p_assertion ->> 'publicKey' OR k.revoked_at IS NOT NULL THEN
    RETURN 'passkey_unknown';
  END IF;
  IF (k.counter > 0 OR p_counter > 0) AND p_counter <= k.counter THEN
    UPDATE approvals.passkey SET revoked_at = clock_timestamp() WHERE id = k.id;
    RETURN 'passkey_copied';
  END IF;
  UPDATE approvals.passkey SET counter = p_counter, last_used_at = clock_timestamp() WHERE id = k.id;
  RETURN NULL;
END $$;

-- Registers a passkey of a person, who answered a value that was given out for it. Outcomes: registered, challenge_over (it was used
-- before, or its time is over), known (this credential was registered before, by any person, and may have been removed), too_many.
CREATE OR REPLACE FUNCTION approvals.register_passkey(p_nonce text, p_id text, p_issuer text, p_subject text, p_name text,
  p_public_key text, p_counter bigint, p_transports text[], p_device_type text, p_backed_up boolean)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF NOT approvals.spend_passkey_challenge(p_nonce, p_subject, NULL) THEN RETURN 'challenge_over'; END IF;
  -- Registrations of one person wait for each other, so that the limit holds.
  PERFORM pg_advisory_xact_lock(hashtextextended('passkey ' || p_subject, 0));
  IF (SELECT count(*) FROM approvals.passkey WHERE subject = p_subject AND revoked_at IS NULL) >= 20 THEN RETURN 'too_many'; END IF;
  INSERT INTO approvals.passkey (id, issuer, subject, name, public_key, counter, transports, device_type, backed_up)
    VALUES (p_id, p_issuer, p_subject, p_name, p_public_key, p_counter, coalesce(p_transports, '{}'), p_device_type, p_backed_up)
    ON CONFLICT (id) DO NOTHING;
  RETURN CASE WHEN FOUND THEN 'registered' ELSE 'known' END;
END $$;

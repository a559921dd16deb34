-- Allows a passkey to be used, renamed and, once, removed. Its key and its person stay, so that it stays readable whose passkey
-- confirmed a vote.
CREATE OR REPLACE FUNCTION approvals.guard_passkey() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE v_changes text[] := ARRAY['name','counter','last_used_at','revoked_at','revoked_by'];
BEGIN
  IF TG_OP = 'DELETE' OR to_jsonb(NEW) - v_changes <> to_jsonb(OLD) - v_changes OR OLD.revoked_at IS NOT NULL
     OR NEW.counter < OLD.counter THEN
    RAISE EXCEPTION 'passkey % cannot change', OLD.id USING ERRCODE = 'CS002';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER passkey_guard BEFORE UPDATE OR DELETE ON approvals.passkey
  FOR EACH ROW EXECUTE FUNCTION approvals.guard_passkey();

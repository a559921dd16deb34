-- Allows a grant to be revoked, once, and refuses any other change. A grant is deleted a day after its end at the earliest.
CREATE OR REPLACE FUNCTION approvals.guard_grant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.expires_at <= clock_timestamp() - interval '1 day' THEN RETURN OLD; END IF;
    RAISE EXCEPTION 'grant % is not over long enough to be forgotten', OLD.id USING ERRCODE = 'CS002';
  END IF;
  IF to_jsonb(NEW) - ARRAY['revoked_at','revoked_by'] <> to_jsonb(OLD) - ARRAY['revoked_at','revoked_by'] OR OLD.revoked_at IS NOT NULL THEN
    RAISE EXCEPTION 'grant % cannot change', OLD.id USING ERRCODE = 'CS002';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER grant_guard BEFORE UPDATE OR DELETE ON approvals."grant"
  FOR EACH ROW EXECUTE FUNCTION approvals.guard_grant();

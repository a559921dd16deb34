-- Keeps the names of both people of a delegation, and allows a delegation to be ended, once, and refuses any other change, so that it stays readable whose voice a vote was. A hand-over is
-- deleted with its request, and only with it.
CREATE OR REPLACE FUNCTION approvals.guard_delegation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    NEW.delegator_names := NEW.delegator_subject || NEW.delegator_names;
    NEW.delegate_names := NEW.delegate_subject || NEW.delegate_names;
    RETURN NEW;
  END IF;
  IF TG_OP = 'DELETE' AND OLD.access_request_id IS NOT NULL
     AND NOT EXISTS (SELECT FROM approvals.access_request WHERE id = OLD.access_request_id) THEN
    RETURN OLD;
  END IF;
  IF TG_OP = 'DELETE' OR to_jsonb(NEW) - 'revoked_at' <> to_jsonb(OLD) - 'revoked_at' OR OLD.revoked_at IS NOT NULL THEN
    RAISE EXCEPTION 'delegation % cannot change', OLD.id USING ERRCODE = 'CS002';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER delegation_guard BEFORE INSERT OR UPDATE OR DELETE ON approvals.delegation
  FOR EACH ROW EXECUTE FUNCTION approvals.guard_delegation();

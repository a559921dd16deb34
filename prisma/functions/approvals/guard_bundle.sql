-- Refuses every change of a bundle.
CREATE OR REPLACE FUNCTION approvals.guard_bundle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'bundle % cannot change', OLD.id USING ERRCODE = 'CS002';
END $$;

CREATE OR REPLACE TRIGGER bundle_guard BEFORE UPDATE ON approvals.bundle FOR EACH ROW EXECUTE FUNCTION approvals.guard_bundle();

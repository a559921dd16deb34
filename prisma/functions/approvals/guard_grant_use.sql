-- Refuses changes of the uses of a grant. They are deleted with the grant, and only with it: it is gone by the time that they follow.
CREATE OR REPLACE FUNCTION approvals.guard_grant_use() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT FROM approvals."grant" WHERE id = OLD.grant_id) THEN RETURN OLD; END IF;
  RAISE EXCEPTION 'use % of grant % cannot change', OLD.number, OLD.grant_id USING ERRCODE = 'CS002';
END $$;

CREATE OR REPLACE TRIGGER grant_use_guard BEFORE UPDATE OR DELETE ON approvals.grant_use
  FOR EACH ROW EXECUTE FUNCTION approvals.guard_grant_use();

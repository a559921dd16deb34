-- Allows a review to be added once. The grant and its reason stay as they are.
CREATE OR REPLACE FUNCTION approvals.guard_break_glass() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE v_added text[] := ARRAY['reviewed_by','reviewed_at','review_note'];
BEGIN
  IF to_jsonb(NEW) - v_added <> to_jsonb(OLD) - v_added OR OLD.reviewed_at IS NOT NULL THEN
    RAISE EXCEPTION 'the emergency grant of % cannot change', OLD.access_request_id USING ERRCODE = 'CS002';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER break_glass_guard BEFORE UPDATE ON approvals.break_glass
  FOR EACH ROW EXECUTE FUNCTION approvals.guard_break_glass();

-- Reports an emergency grant, and its review.
CREATE OR REPLACE FUNCTION approvals.report_break_glass() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM approvals.report(r, jsonb_build_object('of', 'break_glass', 'via', NEW.via, 'subject', NEW.granted_by,
      'to', CASE TG_OP WHEN 'INSERT' THEN 'granted' ELSE 'reviewed' END))
    FROM approvals.access_request r WHERE r.id = NEW.access_request_id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER break_glass_reported AFTER INSERT OR UPDATE ON approvals.break_glass
  FOR EACH ROW EXECUTE FUNCTION approvals.report_break_glass();

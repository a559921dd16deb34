-- Reports a new access request, its end, and each further stage.
CREATE OR REPLACE FUNCTION approvals.report_access_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM approvals.report(NEW, jsonb_build_object('of', 'access_request', 'to', NEW.status));
  ELSIF NEW.status <> OLD.status THEN
    PERFORM approvals.report(NEW, jsonb_build_object('of', 'access_request', 'from', OLD.status, 'to', NEW.status));
  ELSIF NEW.stage <> OLD.stage THEN
    PERFORM approvals.report(NEW, jsonb_build_object('of', 'stage', 'from', OLD.stage, 'to', NEW.stage));
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER access_request_reported AFTER INSERT OR UPDATE OF status, stage ON approvals.access_request
  FOR EACH ROW EXECUTE FUNCTION approvals.report_access_request();

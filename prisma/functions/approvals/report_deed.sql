-- Reports a vote, more time for a stage, an emergency grant and its review, and that an approval was taken back.
CREATE OR REPLACE FUNCTION approvals.report_deed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE v_deed jsonb := jsonb_build_object('via', NEW.via);
BEGIN
  CASE TG_TABLE_NAME
    WHEN 'vote' THEN v_deed := v_deed || jsonb_build_object('of', 'vote', 'to', NEW.verdict, 'subject', NEW.approver_subject);
    WHEN 'extension' THEN v_deed := v_deed || jsonb_build_object('of', 'stage', 'to', 'extended', 'subject', NEW.by_subject);
    WHEN 'revocation' THEN
      v_deed := v_deed || jsonb_build_object('of', 'approval', 'from', 'approved', 'to', 'revoked', 'subject', NEW.by_subject);
    WHEN 'break_glass' THEN v_deed := v_deed || jsonb_build_object('of', 'break_glass', 'subject', NEW.granted_by,
      'to', CASE TG_OP WHEN 'INSERT' THEN 'granted' ELSE 'reviewed' END);
  END CASE;
  PERFORM approvals.report(r, v_deed) FROM approvals.access_request r WHERE r.id = NEW.access_request_id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER vote_reported AFTER INSERT ON approvals.vote FOR EACH ROW EXECUTE FUNCTION approvals.report_deed();
CREATE OR REPLACE TRIGGER extension_reported AFTER INSERT ON approvals.extension FOR EACH ROW EXECUTE FUNCTION approvals.report_deed();
CREATE OR REPLACE TRIGGER revocation_reported AFTER INSERT ON approvals.revocation
  FOR EACH ROW EXECUTE FUNCTION approvals.report_deed();
CREATE OR REPLACE TRIGGER break_glass_reported AFTER INSERT OR UPDATE ON approvals.break_glass
  FOR EACH ROW EXECUTE FUNCTION approvals.report_deed();

-- Reports that an approval was taken back.
CREATE OR REPLACE FUNCTION approvals.report_revocation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM approvals.report(r, jsonb_build_object('of', 'approval', 'from', 'approved', 'to', 'revoked', 'via', NEW.via,
      'subject', NEW.by_subject))
    FROM approvals.access_request r WHERE r.id = NEW.access_request_id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER revocation_reported AFTER INSERT ON approvals.revocation
  FOR EACH ROW EXECUTE FUNCTION approvals.report_revocation();

-- Reports a vote.
CREATE OR REPLACE FUNCTION approvals.report_vote() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM approvals.report(r, jsonb_build_object('of', 'vote', 'to', NEW.verdict, 'via', NEW.via, 'subject', NEW.approver_subject))
    FROM approvals.access_request r WHERE r.id = NEW.access_request_id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER vote_reported AFTER INSERT ON approvals.vote FOR EACH ROW EXECUTE FUNCTION approvals.report_vote();

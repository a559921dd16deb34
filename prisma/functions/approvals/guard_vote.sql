-- Refuses an approval without a passkey in a stage that demands one, and a vote by the hand-over of another request, whichever function
-- inserts it.
CREATE OR REPLACE FUNCTION approvals.guard_vote() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.verdict = 'approve' AND NEW.passkey_assertion IS NULL
     AND (SELECT stages -> NEW.stage - 1 -> 'passkey' FROM approvals.access_request WHERE id = NEW.access_request_id) = 'true' THEN
    RAISE EXCEPTION 'stage % of access request % demands a passkey', NEW.stage, NEW.access_request_id USING ERRCODE = 'CS002';
  END IF;
  IF EXISTS (SELECT FROM approvals.delegation WHERE id = NEW.delegation_id AND access_request_id <> NEW.access_request_id) THEN
    RAISE EXCEPTION 'delegation % is for another request', NEW.delegation_id USING ERRCODE = 'CS002';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER vote_guard BEFORE INSERT ON approvals.vote
  FOR EACH ROW EXECUTE FUNCTION approvals.guard_vote();

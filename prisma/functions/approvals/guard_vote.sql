-- Refuses an approval without a passkey in a stage that demands one, a vote by the hand-over of another request, and a second vote of a
-- person where one counts, by any of their names, whichever function inserts it.
CREATE OR REPLACE FUNCTION approvals.guard_vote() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.names := approvals.names_in_vote(NEW.names, NEW.approver_subject, NEW.cast_by, NEW.actors);
  -- Two votes at the same moment wait for each other here, where their callers have not made them wait before.
  PERFORM FROM approvals.access_request WHERE id = NEW.access_request_id FOR UPDATE;
  IF EXISTS (SELECT FROM approvals.vote WHERE access_request_id = NEW.access_request_id AND counts_in = NEW.counts_in AND names && NEW.names) THEN
    RAISE EXCEPTION 'a person has voted on access request % before', NEW.access_request_id USING ERRCODE = '23505';
  END IF;
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

-- Refuses an approval without a passkey in a stage that demands one, whichever function inserts it.
CREATE OR REPLACE FUNCTION approvals.guard_vote() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.verdict = 'approve' AND NEW.passkey_assertion IS NULL
     AND (SELECT stages -> NEW.stage - 1 -> 'passkey' FROM approvals.access_request WHERE id = NEW.access_request_id) = 'true' THEN
    RAISE EXCEPTION 'stage % of access request % demands a passkey', NEW.stage, NEW.access_request_id USING ERRCODE = 'CS002';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER vote_guard BEFORE INSERT ON approvals.vote
  FOR EACH ROW EXECUTE FUNCTION approvals.guard_vote();

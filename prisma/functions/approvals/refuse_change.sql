-- Rows are deleted with the access request that they are about, and only with it: the access request is gone by the time that
-- they follow.
CREATE OR REPLACE FUNCTION approvals.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT FROM approvals.access_request WHERE id = OLD.access_request_id) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'CS002';
END $$;

CREATE OR REPLACE TRIGGER notice_immutable BEFORE UPDATE OR DELETE ON approvals.notice
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();
CREATE OR REPLACE TRIGGER vote_immutable BEFORE UPDATE OR DELETE ON approvals.vote
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();
CREATE OR REPLACE TRIGGER lapsed_approval_immutable BEFORE UPDATE OR DELETE ON approvals.lapsed_approval
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();
CREATE OR REPLACE TRIGGER extension_immutable BEFORE UPDATE OR DELETE ON approvals.extension
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();
CREATE OR REPLACE TRIGGER requester_question_immutable BEFORE UPDATE OR DELETE ON approvals.requester_question
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();
CREATE OR REPLACE TRIGGER requester_answer_immutable BEFORE UPDATE OR DELETE ON approvals.requester_answer
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();
CREATE OR REPLACE TRIGGER break_glass_kept BEFORE DELETE ON approvals.break_glass
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();
CREATE OR REPLACE TRIGGER resolver_answer_immutable BEFORE UPDATE OR DELETE ON approvals.resolver_answer
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();
CREATE OR REPLACE TRIGGER revocation_immutable BEFORE UPDATE OR DELETE ON approvals.revocation
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();
CREATE OR REPLACE TRIGGER page_opening_immutable BEFORE UPDATE OF access_request_id, subject, at OR DELETE ON approvals.page_opening
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();
CREATE OR REPLACE TRIGGER preview_immutable BEFORE UPDATE OR DELETE ON approvals.preview
  FOR EACH ROW EXECUTE FUNCTION approvals.refuse_change();

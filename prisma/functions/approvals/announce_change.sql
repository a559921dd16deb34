-- Tells the processes of the inbox that a list or a request page may show something else now. The notice names nothing: each reader
-- loads what they may read. Equal notices of one transaction are sent once.
CREATE OR REPLACE FUNCTION approvals.announce_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('approvals_changed', '');
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER access_request_announced AFTER INSERT OR UPDATE OF status, stage, approval_state ON approvals.access_request
  FOR EACH STATEMENT EXECUTE FUNCTION approvals.announce_change();
CREATE OR REPLACE TRIGGER vote_announced AFTER INSERT ON approvals.vote
  FOR EACH STATEMENT EXECUTE FUNCTION approvals.announce_change();
CREATE OR REPLACE TRIGGER notice_announced AFTER INSERT ON approvals.notice
  FOR EACH STATEMENT EXECUTE FUNCTION approvals.announce_change();
CREATE OR REPLACE TRIGGER resolver_answer_announced AFTER INSERT ON approvals.resolver_answer
  FOR EACH STATEMENT EXECUTE FUNCTION approvals.announce_change();
CREATE OR REPLACE TRIGGER extension_announced AFTER INSERT ON approvals.extension
  FOR EACH STATEMENT EXECUTE FUNCTION approvals.announce_change();
CREATE OR REPLACE TRIGGER requester_question_announced AFTER INSERT ON approvals.requester_question
  FOR EACH STATEMENT EXECUTE FUNCTION approvals.announce_change();
CREATE OR REPLACE TRIGGER requester_answer_announced AFTER INSERT ON approvals.requester_answer
  FOR EACH STATEMENT EXECUTE FUNCTION approvals.announce_change();
-- For each row: a statement that changes no row announces nothing. Otherwise each page that loads would make all pages load.
CREATE OR REPLACE TRIGGER page_opening_announced AFTER INSERT OR UPDATE ON approvals.page_opening
  FOR EACH ROW EXECUTE FUNCTION approvals.announce_change();
CREATE OR REPLACE TRIGGER delegation_announced AFTER INSERT OR UPDATE ON approvals.delegation
  FOR EACH STATEMENT EXECUTE FUNCTION approvals.announce_change();
CREATE OR REPLACE TRIGGER revocation_announced AFTER INSERT ON approvals.revocation
  FOR EACH STATEMENT EXECUTE FUNCTION approvals.announce_change();
CREATE OR REPLACE TRIGGER break_glass_announced AFTER INSERT OR UPDATE ON approvals.break_glass
  FOR EACH STATEMENT EXECUTE FUNCTION approvals.announce_change();
CREATE OR REPLACE TRIGGER preview_announced AFTER INSERT ON approvals.preview
  FOR EACH STATEMENT EXECUTE FUNCTION approvals.announce_change();

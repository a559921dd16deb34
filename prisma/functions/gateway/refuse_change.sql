-- Refuses every change of rows that are written once.
CREATE OR REPLACE FUNCTION gateway.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'CS002';
END $$;

CREATE OR REPLACE TRIGGER call_binding_immutable BEFORE UPDATE ON gateway.call_binding
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
-- The statement about an access request is kept once.
CREATE OR REPLACE TRIGGER submission_statement_kept BEFORE UPDATE ON gateway.submission FOR EACH ROW
  WHEN (OLD.sealed_statement IS NOT NULL AND NEW.sealed_statement IS DISTINCT FROM OLD.sealed_statement)
  EXECUTE FUNCTION gateway.refuse_change();
CREATE OR REPLACE TRIGGER preview_immutable BEFORE UPDATE ON gateway.preview
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE OR REPLACE TRIGGER decision_immutable BEFORE UPDATE ON gateway.decision
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE OR REPLACE TRIGGER approval_immutable BEFORE UPDATE ON gateway.approval
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
-- A question is answered once.
CREATE OR REPLACE TRIGGER question_answered_once BEFORE UPDATE ON gateway.question FOR EACH ROW
  WHEN (OLD.answered_at IS NOT NULL
    OR (NEW.key, NEW.gated_call_id, NEW.generation, NEW.form_digest, NEW.sealed_form, NEW.asked_at, NEW.refusals)
      IS DISTINCT FROM
        (OLD.key, OLD.gated_call_id, OLD.generation, OLD.form_digest, OLD.sealed_form, OLD.asked_at, OLD.refusals))
  EXECUTE FUNCTION gateway.refuse_change();
-- A claim is given up once, and nothing else about it changes.
CREATE OR REPLACE TRIGGER execution_claim_immutable BEFORE UPDATE ON gateway.execution_claim FOR EACH ROW
  WHEN (OLD.released_at IS NOT NULL OR NEW.released_at IS NULL OR (NEW.claim_id, NEW.gated_call_id, NEW.generation, NEW.decision_id, NEW.claimed_at, NEW.number,
    NEW.timeline) IS DISTINCT FROM (OLD.claim_id, OLD.gated_call_id, OLD.generation, OLD.decision_id, OLD.claimed_at, OLD.number,
    OLD.timeline))
  EXECUTE FUNCTION gateway.refuse_change();
CREATE OR REPLACE TRIGGER execution_claim_kept BEFORE DELETE ON gateway.execution_claim
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
-- A permit is given once. Only the note that it was not used can be added.
CREATE OR REPLACE TRIGGER invocation_immutable BEFORE UPDATE ON gateway.invocation FOR EACH ROW
  WHEN (OLD.not_sent_at IS NOT NULL OR (NEW.gated_call_id, NEW.claim_id, NEW.invocation_id, NEW.upstream_key, NEW.began_at)
    IS DISTINCT FROM (OLD.gated_call_id, OLD.claim_id, OLD.invocation_id, OLD.upstream_key, OLD.began_at))
  EXECUTE FUNCTION gateway.refuse_change();
CREATE OR REPLACE TRIGGER invocation_kept BEFORE DELETE ON gateway.invocation
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE OR REPLACE TRIGGER call_result_immutable BEFORE UPDATE ON gateway.call_result
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE OR REPLACE TRIGGER late_evidence_immutable BEFORE UPDATE ON gateway.late_evidence
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE OR REPLACE TRIGGER call_event_immutable BEFORE UPDATE OR DELETE ON gateway.call_event
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE OR REPLACE TRIGGER outcome_record_immutable BEFORE UPDATE OR DELETE ON gateway.outcome_record
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE OR REPLACE TRIGGER outcome_record_kept BEFORE TRUNCATE ON gateway.outcome_record
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.refuse_change();

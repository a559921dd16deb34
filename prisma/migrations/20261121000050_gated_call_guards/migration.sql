-- What no statement may do to a gated call, whoever sends it.

CREATE FUNCTION gateway.guard_gated_call() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.state = OLD.state THEN
    IF OLD.ended_at IS NOT NULL AND (NEW.generation, NEW.reason, NEW.claim_id, NEW.ended_at)
       IS DISTINCT FROM (OLD.generation, OLD.reason, OLD.claim_id, OLD.ended_at) THEN
      RAISE EXCEPTION 'gated call % has ended and cannot change', OLD.id USING ERRCODE = 'CS001';
    END IF;
    RETURN NEW;
  END IF;
  IF NOT EXISTS (SELECT 1 FROM gateway.transition WHERE from_state = OLD.state AND to_state = NEW.state) THEN
    RAISE EXCEPTION 'gated call % cannot go from % to %', OLD.id, OLD.state, NEW.state USING ERRCODE = 'CS001';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER gated_call_guard BEFORE UPDATE ON gateway.gated_call
  FOR EACH ROW EXECUTE FUNCTION gateway.guard_gated_call();

CREATE FUNCTION gateway.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'CS002';
END $$;
CREATE TRIGGER call_binding_immutable BEFORE UPDATE ON gateway.call_binding
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
-- What was stated about an access request is kept once.
CREATE TRIGGER submission_statement_kept BEFORE UPDATE ON gateway.submission FOR EACH ROW
  WHEN (OLD.sealed_statement IS NOT NULL AND NEW.sealed_statement IS DISTINCT FROM OLD.sealed_statement)
  EXECUTE FUNCTION gateway.refuse_change();
CREATE TRIGGER decision_immutable BEFORE UPDATE ON gateway.decision
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE TRIGGER approval_immutable BEFORE UPDATE ON gateway.approval
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
-- A question is answered once.
CREATE TRIGGER question_answered_once BEFORE UPDATE ON gateway.question FOR EACH ROW
  WHEN (OLD.answered_at IS NOT NULL
    OR (NEW.key, NEW.gated_call_id, NEW.generation, NEW.form_digest, NEW.sealed_form, NEW.asked_at)
      IS DISTINCT FROM (OLD.key, OLD.gated_call_id, OLD.generation, OLD.form_digest, OLD.sealed_form, OLD.asked_at))
  EXECUTE FUNCTION gateway.refuse_change();
CREATE TRIGGER execution_claim_immutable BEFORE UPDATE OR DELETE ON gateway.execution_claim
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
-- A permit is given once. All that may be added is that it was not used.
CREATE TRIGGER invocation_immutable BEFORE UPDATE ON gateway.invocation FOR EACH ROW
  WHEN (OLD.not_sent_at IS NOT NULL OR (NEW.gated_call_id, NEW.invocation_id, NEW.upstream_key, NEW.began_at)
    IS DISTINCT FROM (OLD.gated_call_id, OLD.invocation_id, OLD.upstream_key, OLD.began_at))
  EXECUTE FUNCTION gateway.refuse_change();
CREATE TRIGGER invocation_kept BEFORE DELETE ON gateway.invocation
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE TRIGGER call_result_immutable BEFORE UPDATE ON gateway.call_result
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE TRIGGER late_evidence_immutable BEFORE UPDATE ON gateway.late_evidence
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE TRIGGER call_event_immutable BEFORE UPDATE OR DELETE ON gateway.call_event
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE TRIGGER outcome_record_immutable BEFORE UPDATE OR DELETE ON gateway.outcome_record
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();
CREATE TRIGGER outcome_record_kept BEFORE TRUNCATE ON gateway.outcome_record
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.refuse_change();

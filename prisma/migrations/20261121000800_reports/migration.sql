-- What a process logs of the changes that it makes. A trigger reports each as a notice to the session that makes it, with the ids
-- by which the lines of all processes are found together. The process logs a notice once its statement is committed. A report holds
-- no arguments, no people and no reasons that people wrote.

CREATE FUNCTION gateway.report(p_call uuid, p_event jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_report jsonb;
BEGIN
  SELECT jsonb_build_object('gatedCall', g.id, 'task', g.task_id, 'workflow', 'gated-call/' || g.id, 'trace', g.trace_id,
      'tool', b.tool, 'generation', g.generation) || jsonb_strip_nulls(p_event) INTO STRICT v_report
    FROM gateway.gated_call g JOIN gateway.call_binding b ON b.gated_call_id = g.id WHERE g.id = p_call;
  RAISE NOTICE USING MESSAGE = 'countersign.transition', DETAIL = v_report::text;
END $$;

-- Every change of state writes one row of `call_event`, so one trigger sees them all.
CREATE FUNCTION gateway.report_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gateway.report(NEW.gated_call_id, jsonb_build_object('of', 'gated_call', 'to', NEW.to_state, 'cause', NEW.cause,
    'from', (SELECT to_state FROM gateway.call_event WHERE gated_call_id = NEW.gated_call_id AND seq < NEW.seq
      ORDER BY seq DESC LIMIT 1),
    'reason', (SELECT reason FROM gateway.gated_call WHERE id = NEW.gated_call_id)));
  RETURN NULL;
END $$;
CREATE TRIGGER call_event_reported AFTER INSERT ON gateway.call_event
  FOR EACH ROW EXECUTE FUNCTION gateway.report_event();

CREATE FUNCTION gateway.report_invocation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gateway.report(NEW.gated_call_id, '{"of": "invocation", "to": "permitted"}');
  RETURN NULL;
END $$;
CREATE TRIGGER invocation_reported AFTER INSERT ON gateway.invocation
  FOR EACH ROW EXECUTE FUNCTION gateway.report_invocation();

CREATE FUNCTION approvals.report(r approvals.access_request, p_event jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE USING MESSAGE = 'countersign.transition', DETAIL = (jsonb_strip_nulls(jsonb_build_object(
    'accessRequest', r.id, 'trace', r.trace_id, 'tool', r.tool, 'template', r.template, 'generation', r.generation,
    'stage', r.stage)) || jsonb_strip_nulls(p_event))::text;
END $$;

CREATE FUNCTION approvals.report_access_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM approvals.report(NEW, jsonb_build_object('of', 'access_request', 'to', NEW.status));
  ELSIF NEW.status <> OLD.status THEN
    PERFORM approvals.report(NEW, jsonb_build_object('of', 'access_request', 'from', OLD.status, 'to', NEW.status));
  ELSIF NEW.stage <> OLD.stage THEN
    PERFORM approvals.report(NEW, jsonb_build_object('of', 'stage', 'from', OLD.stage, 'to', NEW.stage));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER access_request_reported AFTER INSERT OR UPDATE OF status, stage ON approvals.access_request
  FOR EACH ROW EXECUTE FUNCTION approvals.report_access_request();

CREATE FUNCTION approvals.report_vote() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM approvals.report(r, jsonb_build_object('of', 'vote', 'to', NEW.verdict, 'via', NEW.via, 'subject', NEW.approver_subject))
    FROM approvals.access_request r WHERE r.id = NEW.access_request_id;
  RETURN NULL;
END $$;
CREATE TRIGGER vote_reported AFTER INSERT ON approvals.vote FOR EACH ROW EXECUTE FUNCTION approvals.report_vote();

CREATE FUNCTION approvals.report_break_glass() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM approvals.report(r, jsonb_build_object('of', 'break_glass', 'via', NEW.via, 'subject', NEW.granted_by,
      'to', CASE TG_OP WHEN 'INSERT' THEN 'granted' ELSE 'reviewed' END))
    FROM approvals.access_request r WHERE r.id = NEW.access_request_id;
  RETURN NULL;
END $$;
CREATE TRIGGER break_glass_reported AFTER INSERT OR UPDATE ON approvals.break_glass
  FOR EACH ROW EXECUTE FUNCTION approvals.report_break_glass();

CREATE FUNCTION approvals.report_revocation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM approvals.report(r, jsonb_build_object('of', 'approval', 'from', 'approved', 'to', 'revoked', 'via', NEW.via,
      'subject', NEW.by_subject))
    FROM approvals.access_request r WHERE r.id = NEW.access_request_id;
  RETURN NULL;
END $$;
CREATE TRIGGER revocation_reported AFTER INSERT ON approvals.revocation
  FOR EACH ROW EXECUTE FUNCTION approvals.report_revocation();

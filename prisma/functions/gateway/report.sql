-- Reports a change of state. A trigger reports each change as a notice to the session that makes it, with the ids that connect
-- the log lines of all processes. The process logs a notice once its statement is committed. A report holds no arguments, no
-- people and no reasons that people wrote.
CREATE OR REPLACE FUNCTION gateway.report(p_call uuid, p_event jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_report jsonb;
BEGIN
  SELECT jsonb_build_object('gatedCall', g.id, 'task', g.task_id, 'workflow', 'gated-call/' || g.id, 'trace', g.trace_id,
      'tool', b.tool, 'generation', g.generation) || jsonb_strip_nulls(p_event) INTO STRICT v_report
    FROM gateway.gated_call g JOIN gateway.call_binding b ON b.gated_call_id = g.id WHERE g.id = p_call;
  RAISE NOTICE USING MESSAGE = 'countersign.transition', DETAIL = v_report::text;
END $$;

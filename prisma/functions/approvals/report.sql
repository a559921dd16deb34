-- Reports a change of an access request, as `gateway.report` reports a change of a gated call.
CREATE OR REPLACE FUNCTION approvals.report(r approvals.access_request, p_event jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE USING MESSAGE = 'countersign.transition', DETAIL = (jsonb_strip_nulls(jsonb_build_object(
    'accessRequest', r.id, 'trace', r.trace_id, 'tool', r.tool, 'template', r.template, 'generation', r.generation,
    'stage', r.stage)) || jsonb_strip_nulls(p_event))::text;
END $$;

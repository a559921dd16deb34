-- Reports that the permit to send was given.
CREATE OR REPLACE FUNCTION gateway.report_invocation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gateway.report(NEW.gated_call_id, '{"of": "invocation", "to": "permitted"}');
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER invocation_reported AFTER INSERT ON gateway.invocation
  FOR EACH ROW EXECUTE FUNCTION gateway.report_invocation();

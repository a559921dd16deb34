-- Every change of state writes one row of `call_event`, so one trigger sees them all.
CREATE OR REPLACE FUNCTION gateway.report_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gateway.report(NEW.gated_call_id, jsonb_build_object('of', 'gated_call', 'to', NEW.to_state, 'cause', NEW.cause,
    'from', (SELECT to_state FROM gateway.call_event WHERE gated_call_id = NEW.gated_call_id AND seq < NEW.seq
      ORDER BY seq DESC LIMIT 1),
    'reason', (SELECT reason FROM gateway.gated_call WHERE id = NEW.gated_call_id)));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER call_event_reported AFTER INSERT ON gateway.call_event
  FOR EACH ROW EXECUTE FUNCTION gateway.report_event();

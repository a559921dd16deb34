-- Refuses changes of a gated call that no statement may make: a transition that is not in the table, an open call with an end
-- time, an ended call without one, and a change of an ended call.
CREATE OR REPLACE FUNCTION gateway.guard_gated_call() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE v_is_end boolean;
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.state = OLD.state THEN
    IF OLD.ended_at IS NOT NULL AND (NEW.generation, NEW.reason, NEW.claim_id, NEW.ended_at)
       IS DISTINCT FROM (OLD.generation, OLD.reason, OLD.claim_id, OLD.ended_at) THEN
      RAISE EXCEPTION 'gated call % has ended and cannot change', OLD.id USING ERRCODE = 'CS001';
    END IF;
    v_is_end := OLD.ended_at IS NOT NULL;
  ELSIF TG_OP = 'UPDATE' THEN
    SELECT is_end INTO v_is_end FROM gateway.transition WHERE from_state = OLD.state AND to_state = NEW.state;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'gated call % cannot go from % to %', OLD.id, OLD.state, NEW.state USING ERRCODE = 'CS001';
    END IF;
  ELSE
    v_is_end := EXISTS (SELECT 1 FROM gateway.transition WHERE to_state = NEW.state AND is_end);
  END IF;
  IF v_is_end <> (NEW.ended_at IS NOT NULL) THEN
    RAISE EXCEPTION 'gated call % is in state %, which does not fit its end time', NEW.id, NEW.state USING ERRCODE = '23514';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER gated_call_guard BEFORE INSERT OR UPDATE ON gateway.gated_call
  FOR EACH ROW EXECUTE FUNCTION gateway.guard_gated_call();

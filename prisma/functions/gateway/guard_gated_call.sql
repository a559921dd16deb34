-- Refuses what no statement may do to a gated call.
CREATE OR REPLACE FUNCTION gateway.guard_gated_call() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE OR REPLACE TRIGGER gated_call_guard BEFORE UPDATE ON gateway.gated_call
  FOR EACH ROW EXECUTE FUNCTION gateway.guard_gated_call();

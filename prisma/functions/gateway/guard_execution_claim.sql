-- Keeps claim and permit apart from any mistake in a function: no claim with a permit is given up, and no claim that was given up
-- gets a permit. Everything else about a claim never changes.
CREATE OR REPLACE FUNCTION gateway.guard_execution_claim() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM gateway.execution_claim c JOIN gateway.invocation i USING (claim_id)
      WHERE c.claim_id = NEW.claim_id AND c.released_at IS NOT NULL) THEN
    RAISE EXCEPTION 'claim % was given up and cannot have a permit', NEW.claim_id USING ERRCODE = 'CS001';
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER execution_claim_guard AFTER UPDATE ON gateway.execution_claim
  FOR EACH ROW EXECUTE FUNCTION gateway.guard_execution_claim();
CREATE OR REPLACE TRIGGER invocation_guard AFTER INSERT ON gateway.invocation
  FOR EACH ROW EXECUTE FUNCTION gateway.guard_execution_claim();

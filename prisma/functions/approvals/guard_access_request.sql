-- Refuses changes of a request's content. The end of an open stage moves later only by an extension on record, and never beyond the end
-- of the request. A request that has ended never changes, except for the signature that is made once, and
-- for its key, which is forgotten. The signature is made when a client first gets it.
CREATE OR REPLACE FUNCTION approvals.guard_access_request() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE v_kept text[] := ARRAY['status','stage','stage_opened_at','stage_ends_at','remind_at','retry_at','ended_at','end_note','approval_id',
  'approved_at','approved_until','approval_state'];
BEGIN
  IF OLD.status <> 'pending' AND NEW.idempotency_key IS NULL
     AND to_jsonb(NEW) - 'idempotency_key' = to_jsonb(OLD) - 'idempotency_key' THEN
    RETURN NEW;
  END IF;
  IF to_jsonb(NEW) - v_kept <> to_jsonb(OLD) - v_kept THEN
    RAISE EXCEPTION 'the content of access request % cannot change', OLD.id USING ERRCODE = 'CS002';
  END IF;
  IF NEW.stage < OLD.stage THEN
    RAISE EXCEPTION 'access request % cannot go back to an earlier stage', OLD.id USING ERRCODE = 'CS001';
  END IF;
  IF NEW.stage = OLD.stage AND coalesce(NEW.stage_ends_at, 'infinity') > coalesce(OLD.stage_ends_at, 'infinity')
     AND (NEW.stage_ends_at <= NEW.expires_at AND EXISTS (SELECT FROM approvals.extension WHERE access_request_id = NEW.id
       AND stage = NEW.stage AND ends_before = OLD.stage_ends_at AND ends_after = NEW.stage_ends_at)) IS NOT TRUE THEN
    RAISE EXCEPTION 'the stage of access request % cannot end later', OLD.id USING ERRCODE = 'CS002';
  END IF;
  IF OLD.status <> 'pending' AND (to_jsonb(NEW) - 'approval_state' <> to_jsonb(OLD) - 'approval_state'
     OR OLD.approval_state IS NOT NULL) THEN
    RAISE EXCEPTION 'access request % has ended and cannot change', OLD.id USING ERRCODE = 'CS001';
  END IF;
  IF NEW.approval_state IS NOT NULL AND OLD.approval_state IS NULL THEN NEW.approval_fetched_at := clock_timestamp(); END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER access_request_guard BEFORE UPDATE ON approvals.access_request
  FOR EACH ROW EXECUTE FUNCTION approvals.guard_access_request();

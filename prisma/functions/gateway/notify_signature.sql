-- Notifies every gateway, on commit, that the signature changed.
CREATE OR REPLACE FUNCTION gateway.notify_signature() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway_signature', '');
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER accepted_description_notified AFTER INSERT OR UPDATE OR DELETE ON gateway.accepted_description
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.notify_signature();

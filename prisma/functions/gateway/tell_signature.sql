-- Every gateway hears, on commit, that the signature is another one.
CREATE OR REPLACE FUNCTION gateway.tell_signature() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway_signature', '');
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER pin_told AFTER INSERT OR UPDATE OR DELETE ON gateway.pin
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.tell_signature();

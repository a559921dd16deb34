-- The signature: everything that may be listed and used, as it was described when it was accepted. `name` is its public
-- name, `definition` what its upstream says of it as canonical JSON (RFC 8785), `digest` that of exactly these bytes.
CREATE TABLE gateway.pin (
  kind          text NOT NULL,
  name          text NOT NULL,
  upstream      text NOT NULL,
  upstream_name text NOT NULL,
  definition    text NOT NULL,
  digest        text NOT NULL,
  pinned_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (kind, name),
  CONSTRAINT pin_kind CHECK (kind IN ('tool','prompt','resource','resource_template')),
  CONSTRAINT pin_digest CHECK (digest = 'sha-256:' || encode(sha256(convert_to(definition, 'UTF8')), 'hex'))
);

-- Every gateway hears, on commit, that the signature is another one.
CREATE FUNCTION gateway.tell_signature() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway_signature', '');
  RETURN NULL;
END $$;
CREATE TRIGGER pin_told AFTER INSERT OR UPDATE OR DELETE ON gateway.pin
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.tell_signature();

-- Pins what is seen for the first time. It changes nothing that is pinned, so whoever may call it cannot have a tool that
-- became another one pass for the one that was accepted.
-- Of one upstream at most 10,000 things and 16 MiB of descriptions are pinned, in the order in which they come: every
-- gateway holds them in memory, and an upstream may list whatever it likes. The operator's word has no such bound.
CREATE FUNCTION gateway.add_pins(p_kinds text[], p_names text[], p_upstreams text[], p_upstream_names text[],
  p_definitions text[], p_digests text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- One at a time: what two gateways pin at once must not be more than the bound together.
  LOCK TABLE gateway.pin IN SHARE ROW EXCLUSIVE MODE;
  INSERT INTO gateway.pin (kind, name, upstream, upstream_name, definition, digest)
    SELECT seen.kind, seen.name, seen.upstream, seen.upstream_name, seen.definition, seen.digest
    FROM (SELECT s.*, count(*) OVER so_far AS things, sum(octet_length(s.definition)) OVER so_far AS bytes
        FROM unnest(p_kinds, p_names, p_upstreams, p_upstream_names, p_definitions, p_digests) WITH ORDINALITY
          AS s (kind, name, upstream, upstream_name, definition, digest, place)
        WHERE NOT EXISTS (SELECT 1 FROM gateway.pin p WHERE p.kind = s.kind AND p.name = s.name)
        WINDOW so_far AS (PARTITION BY s.upstream ORDER BY s.place)) AS seen
    LEFT JOIN (SELECT p.upstream, count(*) AS things, sum(octet_length(p.definition)) AS bytes FROM gateway.pin p
        WHERE p.upstream = ANY (p_upstreams) GROUP BY p.upstream) AS held ON held.upstream = seen.upstream
    WHERE seen.things + coalesce(held.things, 0) <= 10000
      AND seen.bytes + coalesce(held.bytes, 0) <= 16 * 1024 * 1024
    ON CONFLICT DO NOTHING;
END $$;

-- Carries out what the operator accepts: things as they are described now, and that others are gone. For the owner of the
-- tables alone.
CREATE FUNCTION gateway.accept_pins(p_kinds text[], p_names text[], p_upstreams text[], p_upstream_names text[],
  p_definitions text[], p_digests text[], p_gone_kinds text[], p_gone_names text[]) RETURNS void LANGUAGE sql AS $$
  DELETE FROM gateway.pin p USING unnest(p_gone_kinds, p_gone_names) AS gone (kind, name)
    WHERE p.kind = gone.kind AND p.name = gone.name;
  INSERT INTO gateway.pin (kind, name, upstream, upstream_name, definition, digest)
    SELECT * FROM unnest(p_kinds, p_names, p_upstreams, p_upstream_names, p_definitions, p_digests)
    ON CONFLICT (kind, name) DO UPDATE SET upstream = excluded.upstream, upstream_name = excluded.upstream_name,
      definition = excluded.definition, digest = excluded.digest, pinned_at = clock_timestamp();
$$;

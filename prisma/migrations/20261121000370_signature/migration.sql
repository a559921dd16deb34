-- The signature: every tool that may be listed and called, as it was described when it was accepted. `name` is its public
-- name, `definition` what its upstream says of it as canonical JSON (RFC 8785), `digest` that of exactly these bytes.
CREATE TABLE gateway.pinned_tool (
  name          text PRIMARY KEY,
  upstream      text NOT NULL,
  upstream_tool text NOT NULL,
  definition    text NOT NULL,
  digest        text NOT NULL,
  pinned_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT pinned_tool_digest CHECK (digest = 'sha-256:' || encode(sha256(convert_to(definition, 'UTF8')), 'hex'))
);

-- Every gateway hears, on commit, that the signature is another one.
CREATE FUNCTION gateway.tell_signature() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway_signature', '');
  RETURN NULL;
END $$;
CREATE TRIGGER pinned_tool_told AFTER INSERT OR UPDATE OR DELETE ON gateway.pinned_tool
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.tell_signature();

-- Pins tools that are seen for the first time. It changes none that is pinned, so whoever may call it cannot have a tool
-- that became another one pass for the one that was accepted.
CREATE FUNCTION gateway.pin_tools(p_names text[], p_upstreams text[], p_upstream_tools text[], p_definitions text[],
  p_digests text[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO gateway.pinned_tool (name, upstream, upstream_tool, definition, digest)
    SELECT * FROM unnest(p_names, p_upstreams, p_upstream_tools, p_definitions, p_digests) AS seen (name) ORDER BY seen.name
    ON CONFLICT DO NOTHING;
$$;

-- Carries out what the operator accepts: tools as they are described now, and that others are gone. For the owner of the
-- tables alone.
CREATE FUNCTION gateway.accept_tools(p_names text[], p_upstreams text[], p_upstream_tools text[], p_definitions text[],
  p_digests text[], p_gone text[]) RETURNS void LANGUAGE sql AS $$
  DELETE FROM gateway.pinned_tool WHERE name = ANY (p_gone);
  INSERT INTO gateway.pinned_tool (name, upstream, upstream_tool, definition, digest)
    SELECT * FROM unnest(p_names, p_upstreams, p_upstream_tools, p_definitions, p_digests) AS accepted (name)
    ON CONFLICT (name) DO UPDATE SET upstream = excluded.upstream, upstream_tool = excluded.upstream_tool,
      definition = excluded.definition, digest = excluded.digest, pinned_at = clock_timestamp();
$$;

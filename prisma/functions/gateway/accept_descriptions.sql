-- Applies the operator's decisions: accepts things as they are described now, and drops those that are gone. Only the owner of
-- the tables may call it.
CREATE OR REPLACE FUNCTION gateway.accept_descriptions(p_kinds text[], p_names text[], p_upstreams text[], p_upstream_names text[],
  p_definitions text[], p_digests text[], p_gone_kinds text[], p_gone_names text[]) RETURNS void LANGUAGE sql AS $$
  DELETE FROM gateway.accepted_description p USING unnest(p_gone_kinds, p_gone_names) AS gone (kind, name)
    WHERE p.kind = gone.kind AND p.name = gone.name;
  INSERT INTO gateway.accepted_description (kind, name, upstream, upstream_name, definition, digest)
    SELECT * FROM unnest(p_kinds, p_names, p_upstreams, p_upstream_names, p_definitions, p_digests)
    ON CONFLICT (kind, name) DO UPDATE SET upstream = excluded.upstream, upstream_name = excluded.upstream_name,
      definition = excluded.definition, digest = excluded.digest, accepted_at = clock_timestamp();
$$;

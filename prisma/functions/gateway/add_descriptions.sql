-- Accepts things that are seen for the first time. It changes no accepted description. So a caller of this function cannot pass a
-- tool that became another one off as the accepted one. Of one upstream it accepts at most 10,000 things and 16 MiB of
-- descriptions, in the order in which they come: every gateway holds them in memory, and an upstream may list anything. The
-- operator's decisions have no such bound.
CREATE OR REPLACE FUNCTION gateway.add_descriptions(p_kinds text[], p_names text[], p_upstreams text[], p_upstream_names text[],
  p_definitions text[], p_digests text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- One at a time: two gateways that accept at once must not exceed the bound together.
  LOCK TABLE gateway.accepted_description IN SHARE ROW EXCLUSIVE MODE;
  INSERT INTO gateway.accepted_description (kind, name, upstream, upstream_name, definition, digest)
    SELECT seen.kind, seen.name, seen.upstream, seen.upstream_name, seen.definition, seen.digest
    FROM (SELECT s.*, count(*) OVER so_far AS things, sum(octet_length(s.definition)) OVER so_far AS bytes
        FROM unnest(p_kinds, p_names, p_upstreams, p_upstream_names, p_definitions, p_digests) WITH ORDINALITY
          AS s (kind, name, upstream, upstream_name, definition, digest, place)
        WHERE NOT EXISTS (SELECT 1 FROM gateway.accepted_description p WHERE p.kind = s.kind AND p.name = s.name)
        WINDOW so_far AS (PARTITION BY s.upstream ORDER BY s.place)) AS seen
    LEFT JOIN (SELECT p.upstream, count(*) AS things, sum(octet_length(p.definition)) AS bytes FROM gateway.accepted_description p
        WHERE p.upstream = ANY (p_upstreams) GROUP BY p.upstream) AS held ON held.upstream = seen.upstream
    WHERE seen.things + coalesce(held.things, 0) <= 10000
      AND seen.bytes + coalesce(held.bytes, 0) <= 16 * 1024 * 1024
    ON CONFLICT DO NOTHING;
END $$;

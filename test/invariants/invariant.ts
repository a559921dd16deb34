/** One arrival of a call at a tool, as a ledger of its own noted it before the tool answered. */
export interface Arrival {
  readonly upstreamKey: string;
  /** Digest of tool and arguments as they arrived, as the domain makes it, without any key. */
  readonly argumentsDigest?: string;
  /** Instant (RFC 3339) by the clock of the machine that the database runs on. */
  readonly at: string;
}

/** One request at an access request service that is not the product's own, as that service sees it. */
export interface ServiceRequest {
  readonly accessRequestId: string;
  /** Whether somebody could still be asked to decide on it. */
  readonly live: boolean;
}

/** What was seen outside of the database. An invariant that needs something that is not given is not asked. */
export interface Evidence {
  /** Everything that arrived at tools, and nothing else: a missing arrival is a violation, too. */
  readonly arrivals?: readonly Arrival[];
  readonly requests?: readonly ServiceRequest[];
  /** When something was down, killed or held up. Instants (RFC 3339). */
  readonly faults?: readonly { readonly from: string; readonly to: string }[];
  /** Every task id that was given to a client. */
  readonly seenTaskIds?: readonly string[];
  /** How this installation keys digests: without it nothing outside can be matched with what is stored under a key. */
  readonly keyed?: (text: string) => string;
  /** Everything has been well for this long: whatever should have moved on by then has. Milliseconds. */
  readonly quietForMs?: number;
}

/** Something that is never so. The query finds every case in which it is. */
export interface Invariant {
  /** What holds, as a sentence. */
  readonly name: string;
  /** Gives no row while it holds. May read the tables of `EVIDENCE`. */
  readonly sql: string;
  readonly needs?: keyof Evidence;
}

/** The evidence as tables, for every query alike: `arrival`, `service_request`, `fault`, `seen_task`, `quiet`. */
export const EVIDENCE = `
  WITH given AS (SELECT $1::jsonb AS body),
  arrival AS (
    SELECT a."upstreamKey" AS upstream_key, a."argumentsDigest" AS arguments_digest, a.at
    FROM given, jsonb_to_recordset(coalesce(body -> 'arrivals', '[]'))
      AS a("upstreamKey" text, "argumentsDigest" text, at timestamptz)),
  arrived_call AS (
    SELECT i.gated_call_id, i.began_at, i.not_sent_at, a.* FROM arrival a JOIN gateway.invocation i USING (upstream_key)),
  service_request AS (
    SELECT r.key, r.live, r."callDigest" AS call_digest, r.generation
    FROM given, jsonb_to_recordset(coalesce(body -> 'requests', '[]'))
      AS r(key text, live boolean, "callDigest" text, generation int)),
  fault AS (
    SELECT f."from" AS began_at, f."to" AS ended_at FROM given, jsonb_to_recordset(coalesce(body -> 'faults', '[]'))
      AS f("from" timestamptz, "to" timestamptz)),
  seen_task AS (
    SELECT task_id FROM given, jsonb_array_elements_text(coalesce(body -> 'seenTaskIds', '[]')) AS t(task_id)),
  quiet AS (SELECT clock_timestamp() - (body ->> 'quietForMs')::float8 * interval '1 ms' AS since FROM given)`;

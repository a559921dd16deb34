/** One arrival of a call at a tool, which a separate ledger noted before the tool answered. */
export interface Arrival {
  readonly upstreamKey: string;
  /** Digest of the tool and arguments on arrival, in the domain's form, without any key. */
  readonly argumentsDigest?: string;
  /** Instant (RFC 3339) by the clock of the machine that the database runs on. */
  readonly at: string;
}

/** One request at an external access request service, as that service sees it. */
export interface ServiceRequest {
  readonly accessRequestId: string;
  /** Whether an approver could still be asked to decide on it. */
  readonly live: boolean;
}

/** Observations outside of the database. An invariant whose evidence is missing is skipped. */
export interface Evidence {
  /** Every arrival at tools: a missing arrival is a violation, too. */
  readonly arrivals?: readonly Arrival[];
  readonly requests?: readonly ServiceRequest[];
  /** When a process was down, killed or held up. Instants (RFC 3339). */
  readonly faults?: readonly { readonly from: string; readonly to: string }[];
  /** Every task id that was given to a client. */
  readonly seenTaskIds?: readonly string[];
  /**
   * How this installation keys digests: without it, no outside observation can be matched with data stored under a key.
   */
  readonly keyed?: (text: string) => string;
  /** How long everything has worked: delayed work must be done by now. Milliseconds. */
  readonly quietForMs?: number;
}

/** A statement that always holds. The query finds every violation. */
export interface Invariant {
  /** The statement, as a sentence. */
  readonly name: string;
  /** Returns no row while the statement holds. May read the tables of `EVIDENCE`. */
  readonly sql: string;
  readonly needs?: keyof Evidence;
}

/** The evidence as tables, which every query can read: `arrival`, `service_request`, `fault`, `seen_task`, `quiet`. */
export const EVIDENCE = `
  WITH given AS (SELECT $1::jsonb AS body),
  arrival AS (
    SELECT a."upstreamKey" AS upstream_key, a."argumentsDigest" AS arguments_digest, a.at
    FROM given, jsonb_to_recordset(coalesce(body -> 'arrivals', '[]'))
      AS a("upstreamKey" text, "argumentsDigest" text, at timestamptz)),
  arrived_call AS (
    SELECT i.gated_call_id, i.began_at, i.not_sent_at, a.* FROM arrival a JOIN gateway.invocation i USING (upstream_key)),
  service_request AS (
    SELECT r.key, r.live, r."callDigest" AS call_digest, r.generation, r."grantId" AS grant_id
    FROM given, jsonb_to_recordset(coalesce(body -> 'requests', '[]'))
      AS r(key text, live boolean, "callDigest" text, generation int, "grantId" text)),
  fault AS (
    SELECT f."from" AS began_at, f."to" AS ended_at FROM given, jsonb_to_recordset(coalesce(body -> 'faults', '[]'))
      AS f("from" timestamptz, "to" timestamptz)),
  seen_task AS (
    SELECT task_id FROM given, jsonb_array_elements_text(coalesce(body -> 'seenTaskIds', '[]')) AS t(task_id)),
  quiet AS (SELECT clock_timestamp() - (body ->> 'quietForMs')::float8 * interval '1 ms' AS since FROM given)`;

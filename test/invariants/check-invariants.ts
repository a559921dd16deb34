import type { Pool, PoolClient } from 'pg';
import { EFFECTS } from './effects.ts';
import { EXECUTION } from './execution.ts';
import { EVIDENCE, type Evidence, type Invariant } from './invariant.ts';
import { GRANTS } from './grants.ts';
import { LIVENESS } from './liveness.ts';
import { RECORDS } from './records.ts';
import { REQUESTS } from './requests.ts';

/** Statements that always hold, after any crash, repetition, race or restart. */
export const INVARIANTS: readonly Invariant[] = [
  ...EFFECTS,
  ...EXECUTION,
  ...RECORDS,
  ...REQUESTS,
  ...GRANTS,
  ...LIVENESS,
];

export interface Violation {
  readonly invariant: string;
  /** The violating cases, as the query returns them; the first few of many. */
  readonly cases: readonly Record<string, unknown>[];
}

const CASES_KEPT = 5;

/** Checks every invariant for which there is evidence. Answers the violations, or an empty list. */
export async function checkInvariants(database: Pool | PoolClient, evidence: Evidence = {}): Promise<Violation[]> {
  const given = await prepare(database, evidence);
  const violations: Violation[] = [];
  for (const invariant of INVARIANTS) {
    if (invariant.needs !== undefined && evidence[invariant.needs] === undefined) continue;
    const { rows } = await ask(database, invariant, given);
    if (rows.length > 0) violations.push({ invariant: invariant.name, cases: rows.slice(0, CASES_KEPT) });
  }
  return violations;
}

/** Every case in which one invariant does not hold. */
export async function casesAgainst(
  database: Pool | PoolClient,
  invariant: Invariant,
  evidence: Evidence,
): Promise<Record<string, unknown>[]> {
  return (await ask(database, invariant, await prepare(database, evidence))).rows;
}

const ask = (database: Pool | PoolClient, { sql }: Invariant, given: string) =>
  database.query<Record<string, unknown>>(`${EVIDENCE} ${sql}`, [given]);

interface OwnRequest {
  readonly id: string;
  readonly live: boolean;
  readonly call_digest: string;
  readonly generation: number;
  /** The grant that approved it. */
  readonly grant_id: string | null;
}

/**
 * The evidence as text, together with the state of the product's own access request service, all under this
 * installation's key.
 */
async function prepare(database: Pool | PoolClient, evidence: Evidence): Promise<string> {
  const { keyed, arrivals = [], requests = [], ...same } = evidence;
  if (keyed === undefined)
    return JSON.stringify({ ...same, arrivals: arrivals.map(({ upstreamKey, at }) => ({ upstreamKey, at })) });
  const { rows } = await database.query<OwnRequest>(
    `SELECT id, status = 'pending' AS live, call_digest, generation,
       (SELECT max(grant_id) FROM approvals.vote v WHERE v.access_request_id = r.id) AS grant_id
     FROM approvals.access_request r`,
  );
  const own = rows.map(({ id, live, call_digest, generation, grant_id }) => ({
    ...{ key: keyed(id), live, generation, grantId: grant_id },
    callDigest: keyed(call_digest),
  }));
  const others = requests.map(({ accessRequestId, live }) => ({ key: keyed(accessRequestId), live }));
  const arrived = arrivals.map(({ argumentsDigest, ...arrival }) => ({
    ...arrival,
    ...(argumentsDigest !== undefined && { argumentsDigest: keyed(argumentsDigest) }),
  }));
  return JSON.stringify({ ...same, arrivals: arrived, requests: [...own, ...others] });
}

/** Throws an error that names every violation. */
export async function expectInvariants(database: Pool | PoolClient, evidence: Evidence = {}): Promise<void> {
  const violations = await checkInvariants(database, evidence);
  if (violations.length === 0) return;
  const words = violations.map(({ invariant, cases }) => `${invariant}: ${JSON.stringify(cases)}`);
  throw new Error(`no longer holds:\n${words.join('\n')}`);
}

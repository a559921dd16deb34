import type { Pool, PoolClient } from 'pg';
import { EFFECTS } from './effects.ts';
import { EXECUTION } from './execution.ts';
import { EVIDENCE, type Evidence, type Invariant } from './invariant.ts';
import { LIVENESS } from './liveness.ts';
import { RECORDS } from './records.ts';
import { REQUESTS } from './requests.ts';

/** Everything that is never so, whatever crashes, repeats, races or is restarted. */
export const INVARIANTS: readonly Invariant[] = [...EFFECTS, ...EXECUTION, ...RECORDS, ...REQUESTS, ...LIVENESS];

export interface Violation {
  readonly invariant: string;
  /** The cases found, as the query gives them; the first few of many. */
  readonly cases: readonly Record<string, unknown>[];
}

const CASES_KEPT = 5;

/** Asks every invariant for which there is evidence. Answers what does not hold; nothing when all is well. */
export async function checkInvariants(database: Pool | PoolClient, evidence: Evidence = {}): Promise<Violation[]> {
  const violations: Violation[] = [];
  for (const invariant of INVARIANTS) {
    if (invariant.needs !== undefined && evidence[invariant.needs] === undefined) continue;
    const cases = await casesAgainst(database, invariant, evidence);
    if (cases.length > 0) violations.push({ invariant: invariant.name, cases: cases.slice(0, CASES_KEPT) });
  }
  return violations;
}

/** Every case in which one invariant does not hold. */
export async function casesAgainst(
  database: Pool | PoolClient,
  invariant: Invariant,
  evidence: Evidence,
): Promise<Record<string, unknown>[]> {
  const text = `${EVIDENCE} ${invariant.sql}`;
  return (await database.query<Record<string, unknown>>(text, [JSON.stringify(evidence)])).rows;
}

/** Throws with all that does not hold, in words. */
export async function expectInvariants(database: Pool | PoolClient, evidence: Evidence = {}): Promise<void> {
  const violations = await checkInvariants(database, evidence);
  if (violations.length === 0) return;
  const words = violations.map(({ invariant, cases }) => `${invariant}: ${JSON.stringify(cases)}`);
  throw new Error(`not so any more:\n${words.join('\n')}`);
}

import type { Pool } from 'pg';
import { checkInvariants, type Violation } from '../invariants/check-invariants.ts';
import type { Arrival } from '../invariants/invariant.ts';
import { createRace, type Winner } from './race.ts';

/** Races at the same time. Each has four rivals and perhaps a stray session, each with a connection of its own. */
export const RACES_AT_ONCE = 12;
export const CONNECTIONS = 5 * RACES_AT_ONCE;

export interface RaceFigures {
  readonly calls: number;
  readonly winners: Readonly<Record<Winner, number>>;
  readonly seconds: number;
  readonly callsPerSecond: number;
  /** What rivals were told that does not fit what happened. */
  readonly contradictions: readonly string[];
  /** Why the database did not answer a rival in time: of those calls, only the invariants tell. */
  readonly unanswered: readonly string[];
  readonly violations: readonly Violation[];
}

/** Runs this many races and then asks every invariant. */
export async function runRaces(pool: Pool, calls: number): Promise<RaceFigures> {
  const race = createRace(pool);
  const winners: Record<Winner, number> = { claim: 0, cancel: 0, expiry: 0 };
  const contradictions: string[] = [];
  const unanswered: string[] = [];
  const arrivals: Arrival[] = [];
  const began = performance.now();
  let next = 0;
  const lane = async () => {
    while (next < calls) {
      const result = await race(next++);
      winners[result.winner] += 1;
      contradictions.push(...result.contradictions);
      if (result.unanswered !== undefined) unanswered.push(result.unanswered);
      if (result.arrival !== undefined) arrivals.push(result.arrival);
    }
  };
  await Promise.all(Array.from({ length: RACES_AT_ONCE }, lane));
  const seconds = (performance.now() - began) / 1_000;
  const violations = await checkInvariants(pool, { arrivals });
  return { calls, winners, seconds, callsPerSecond: calls / seconds, contradictions, unanswered, violations };
}

import type { Pool } from 'pg';
import { checkInvariants, type Violation } from '../invariants/check-invariants.ts';
import type { Arrival } from '../invariants/invariant.ts';
import { createRace, type Winner } from './race.ts';

/** Races at the same time. Each has four rivals and sometimes a stray session, each with its own connection. */
export const RACES_AT_ONCE = 12;
export const CONNECTIONS = 5 * RACES_AT_ONCE;

export interface RaceFigures {
  /** The races in which every rival was answered. */
  readonly calls: number;
  readonly winners: Readonly<Record<Winner, number>>;
  readonly seconds: number;
  readonly callsPerSecond: number;
  /** Answers to rivals that contradict the outcome. */
  readonly contradictions: readonly string[];
  /** Why the database did not answer a rival in time, for each race that was replaced by another one. */
  readonly unanswered: readonly string[];
  readonly violations: readonly Violation[];
}

/**
 * One of this many races may be left without an answer: a machine that stands still for a while keeps all races of that
 * time waiting.
 */
const ANSWERED_FOR_EACH_UNANSWERED = 5;

/**
 * Runs this many races and then checks every invariant. @throws when the database leaves too many of them without an
 * answer.
 */
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
      const index = next++;
      let result = await race(index);
      while ('unanswered' in result) {
        unanswered.push(result.unanswered);
        if (unanswered.length > calls / ANSWERED_FOR_EACH_UNANSWERED) throw new Error(unanswered.join('\n'));
        result = await race(index);
      }
      winners[result.winner] += 1;
      contradictions.push(...result.contradictions);
      if (result.arrival !== undefined) arrivals.push(result.arrival);
    }
  };
  await Promise.all(Array.from({ length: RACES_AT_ONCE }, lane));
  const seconds = (performance.now() - began) / 1_000;
  const violations = await checkInvariants(pool, { arrivals });
  return { calls, winners, seconds, callsPerSecond: calls / seconds, contradictions, unanswered, violations };
}

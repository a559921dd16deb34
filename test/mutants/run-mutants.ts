import type { Pool } from 'pg';
import { CONNECTIONS as FOR_HISTORIES, runHistories } from '../histories/run-histories.ts';
import { compareWithModel } from '../model/compare.ts';
import { CONNECTIONS as FOR_RACES, runRaces } from '../races/run-races.ts';
import { createTestDatabase } from '../support/database.ts';
import { DATABASE_MUTANTS } from './database-mutants.ts';
import type { Check, Mutant } from './mutant.ts';
import { PROCESS_MUTANTS } from './process-mutants.ts';

export const MUTANTS: readonly Mutant[] = [...DATABASE_MUTANTS, ...PROCESS_MUTANTS];

export interface Verdict {
  readonly mutant: string;
  /** Undefined: it survived. */
  readonly killedBy?: Check;
  /** The number of histories, races or operations until then. */
  readonly after: number;
  /** The finding that revealed the fault. */
  readonly because: string;
  readonly seconds: number;
}

const MOST_HISTORIES = 2_000;
const RACES_PER_TRY = 200;
const MOST_RACES = 1_000;

/** Runs the checks on one mutant until one of them finds the fault. */
export async function tryMutant(mutant: Mutant, seed = 'mutants'): Promise<Verdict> {
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1_000;
  let after = 0;
  for (const check of mutant.checks) {
    const db = await createTestDatabase({ max: Math.max(FOR_HISTORIES, FOR_RACES) });
    try {
      await mutant.inDatabase?.(db.pool);
      const found = await CHECKS[check](db.pool, mutant, seed);
      after = found.after;
      if (found.because !== undefined)
        return { mutant: mutant.name, killedBy: check, after, because: found.because, seconds: seconds() };
    } finally {
      await db.drop();
    }
  }
  return { mutant: mutant.name, after, because: 'nothing', seconds: seconds() };
}

interface Found {
  readonly after: number;
  readonly because?: string | undefined;
}

const CHECKS: Readonly<Record<Check, (pool: Pool, mutant: Mutant, seed: string) => Promise<Found>>> = {
  async histories(pool, mutant, seed) {
    const mutation = mutant.inProcess?.() ?? {};
    const { failure, histories } = await runHistories(pool, { count: MOST_HISTORIES, seed, mutation });
    return { after: histories, because: failure?.findings[0] ?? failure?.violations[0]?.invariant };
  },
  async races(pool) {
    for (let after = RACES_PER_TRY; ; after += RACES_PER_TRY) {
      const { contradictions, violations } = await runRaces(pool, RACES_PER_TRY);
      const because = contradictions[0] ?? violations[0]?.invariant;
      if (because !== undefined || after >= MOST_RACES) return { after, because };
    }
  },
  async model(pool) {
    const { tried, difference } = await compareWithModel(pool);
    return { after: tried, because: difference && `the database answers differently to ${difference.operation}` };
  },
};

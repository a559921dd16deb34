import type { Clock } from '../../apps/shared/clock.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { pauseMs } from '../../workflows/domain/gated-call/deadlines.ts';

const PAUSE_MIN_MS = 50;
const PAUSE_MAX_MS = 1_000;

/**
 * Runs a statement again while the database is away, for as long as this; then its last failure is thrown. Only for
 * what nobody else repeats with the same values, and only for statements that find what an earlier run of theirs has
 * committed: the answer may have been lost, not the commit.
 */
export async function persist<T>(run: () => Promise<T>, withinMs: number, clock: Clock): Promise<T> {
  const end = clock.monotonicMs() + withinMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      const isAway = error instanceof CountersignError && error.code === 'ERR_DATABASE_UNAVAILABLE';
      const remainingMs = end - clock.monotonicMs();
      if (!isAway || remainingMs <= 0) throw error;
      const bounds = { minMs: PAUSE_MIN_MS, maxMs: PAUSE_MAX_MS, remainingMs };
      await clock.after(pauseMs({ attempt, ...bounds, random: Math.random() }));
    }
  }
}

import { type Clock, systemClock } from '../../apps/shared/clock.ts';
import { limitsOf, type Limits, type Timing } from '../../apps/shared/limits.ts';

/** The limits of a machine of ordinary speed, for tests of a limit. */
export const ORDINARY_LIMITS = limitsOf({ timeLimitFactor: 1 });

/** The `timeLimitFactor` of tests that test no limit: a machine that stops for ten seconds reaches no limit. */
export const PATIENT_FACTOR = 100;
export const PATIENT_LIMITS = limitsOf({ timeLimitFactor: PATIENT_FACTOR });

/** Time as a `main.ts` gives it, for tests in this process that do not depend on it. */
export const systemTime: Timing = { clock: systemClock, limits: PATIENT_LIMITS };

/** The same for tests of a limit. */
export const ordinaryTime: Timing = { clock: systemClock, limits: ORDINARY_LIMITS };

/** With servers that cut open connections when they close. */
export const CUT_AT_ONCE: Limits = { ...PATIENT_LIMITS, serverCloseMs: 0 };

/** The `doctor`'s knowledge of a test configuration. */
export const IN_DEVELOPMENT = { mode: 'development', timeLimitFactor: PATIENT_FACTOR } as const;

/** The time of this machine, with a wall clock that a test sets. */
export interface WallClock extends Clock {
  /** How far the wall clock is ahead, in milliseconds. */
  aheadMs: number;
  /** The wall clock stands still at this time, in milliseconds since 1970. */
  stoppedAt: number | undefined;
}

export function aWallClock(): WallClock {
  const wall: WallClock = {
    ...systemClock,
    aheadMs: 0,
    stoppedAt: undefined,
    now: () => wall.stoppedAt ?? systemClock.now() + wall.aheadMs,
  };
  return wall;
}

import { systemClock } from '../../apps/shared/clock.ts';
import { limitsOf, type Limits, type Timing } from '../../apps/shared/limits.ts';

/** The limits of a machine of ordinary speed. */
export const ORDINARY_LIMITS = limitsOf({ timeLimitFactor: 1 });

/** Time as a `main.ts` gives it, for what is tested in this process and does not depend on it. */
export const systemTime: Timing = { clock: systemClock, limits: ORDINARY_LIMITS };

/** With servers that cut open connections when they close. */
export const CUT_AT_ONCE: Limits = { ...ORDINARY_LIMITS, serverCloseMs: 0 };

/** What `doctor` knows of a configuration of tests. */
export const IN_DEVELOPMENT = { mode: 'development', timeLimitFactor: 1 } as const;

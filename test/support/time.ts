import { systemClock } from '../../apps/shared/clock.ts';
import { limitsOf, type Timing } from '../../apps/shared/limits.ts';

/** The limits of a machine of ordinary speed. */
export const ORDINARY_LIMITS = limitsOf({ timeLimitFactor: 1 });

/** Time as a `main.ts` gives it, for what is tested in this process and does not depend on it. */
export const systemTime: Timing = { clock: systemClock, limits: ORDINARY_LIMITS };

import type { MappingTime } from '../../apps/shared/coaz/resolve.ts';
import { createSlowMappings } from '../../apps/shared/coaz/slow-mappings.ts';
import { limitsOf } from '../../apps/shared/limits.ts';
import { systemTime } from './time.ts';

/** For mappings of which none is slow. By default they have so much time that a machine which stands still takes none of it. */
export const mappingTime = (limits = limitsOf({ timeLimitFactor: 100 })): MappingTime => ({
  ...systemTime,
  limits,
  slow: createSlowMappings(limits.mappingMs),
});

import type { MappingTime } from '../../apps/shared/coaz/resolve.ts';
import { createSlowMappings } from '../../apps/shared/coaz/slow-mappings.ts';
import { PATIENT_LIMITS, systemTime } from './time.ts';

/** For mappings of which none is slow. By default they have so much time that a machine which stands still takes none of it. */
export const mappingTime = (limits = PATIENT_LIMITS): MappingTime => ({
  ...systemTime,
  limits,
  slow: createSlowMappings(limits.mappingMs),
});

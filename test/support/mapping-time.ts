import { createSlowMappings, type MappingTime } from '../../apps/shared/coaz/resolve.ts';
import { PATIENT_LIMITS, systemTime } from './time.ts';

/**
 * Time for mappings that are not slow. The default is so long that a machine that stops for seconds does not use it up.
 */
export const mappingTime = (limits = PATIENT_LIMITS): MappingTime => ({
  ...systemTime,
  limits,
  slow: createSlowMappings(limits.mappingMs),
});

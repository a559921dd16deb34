import type { RestoreWatch } from '../../activities/step.ts';

/** The database has forgotten nothing. */
export const NEVER_RESTORED: RestoreWatch = {
  isCompared: () => true,
  contradicts: async () => false,
  report: (gatedCallId) => Promise.reject(new Error(`a row was taken back: ${gatedCallId}`)),
};

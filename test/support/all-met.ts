import type { RequirementChecks } from '../../workflows/domain/tools/requirements.ts';

/** Nothing is demanded of anybody. */
export const ALL_MET: RequirementChecks = {
  claimNames: [],
  check: async () => ({ unmet: [], undecided: [] }),
};

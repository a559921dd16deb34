import type { RequirementChecks } from '../../workflows/domain/tools/requirements.ts';

/** No caller has to meet any requirement. */
export const ALL_MET: RequirementChecks = {
  claimNames: [],
  check: async () => ({ unmet: [], undecided: [] }),
};

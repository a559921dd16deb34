import { peopleDecide, roleTakenAway, signOut } from './pages.ts';
import { agentCalls, hostRefreshes, hostSignsIn } from './programs.ts';
import type { Step } from './step.ts';
import { doctorAgrees, missingAudience, missingScope } from './tokens.ts';

/** In the order of a first day with the product. */
export const STEPS: readonly Step[] = [
  agentCalls,
  hostSignsIn,
  peopleDecide,
  signOut,
  roleTakenAway,
  missingScope,
  missingAudience,
  hostRefreshes,
  doctorAgrees,
];

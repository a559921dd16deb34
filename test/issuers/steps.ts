import { peopleDecide, roleTakenAway, signOut } from './pages.ts';
import { agentCalls, hostRefreshes, hostSignsIn } from './programs.ts';
import type { Step } from './step.ts';
import {
  stdioCalls,
  stdioNeedsClient,
  stdioRefreshes,
  stdioRefuses,
  stdioSignsIn,
  stdioSignsInBefore,
  stdioSignsOut,
} from './stdio.ts';
import { doctorAgrees, missingAudience, missingScope } from './tokens.ts';

/** In the order of a first day with the product. */
export const STEPS: readonly Step[] = [
  agentCalls,
  hostSignsIn,
  stdioNeedsClient,
  stdioRefuses,
  stdioSignsIn,
  stdioCalls,
  stdioSignsInBefore,
  peopleDecide,
  signOut,
  roleTakenAway,
  stdioRefreshes,
  stdioSignsOut,
  missingScope,
  missingAudience,
  hostRefreshes,
  doctorAgrees,
];

import type { GatedCallState } from './gated-call.ts';

/** What became of execution, as clients read it. @see SEP-2848, Execution disposition */
export type Disposition = 'approved-executed' | 'denied-not-executed' | 'execution-error' | 'outcome-unknown';

const DISPOSITIONS = {
  preparing: undefined,
  pending: undefined,
  input_required: undefined,
  granted: undefined,
  claimed: undefined,
  executed: 'approved-executed',
  execution_error: 'execution-error',
  outcome_unknown: 'outcome-unknown',
  denied: 'denied-not-executed',
  cancelled: undefined,
  failed: undefined,
} as const satisfies Record<GatedCallState, Disposition | undefined>;

/** The disposition of a gated call; none while it is open, and none on `cancelled` and `failed`. Stored nowhere. */
export function dispositionOf(state: GatedCallState): Disposition | undefined {
  return DISPOSITIONS[state];
}

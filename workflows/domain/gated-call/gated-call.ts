/** Every state of a gated call, in the order of its life. The last six are ends. */
export const GATED_CALL_STATES = [
  'preparing',
  'pending',
  'input_required',
  'granted',
  'claimed',
  'executed',
  'execution_error',
  'outcome_unknown',
  'denied',
  'cancelled',
  'failed',
] as const;

export type GatedCallState = (typeof GATED_CALL_STATES)[number];

/**
 * The table of transitions. The database holds the same table and refuses everything else. `failed`, `denied` and
 * `cancelled` cannot be reached once execution is claimed (SEP-2848, Lifecycle and Cancellation).
 */
export const TRANSITIONS = {
  preparing: ['pending', 'denied', 'cancelled', 'failed'],
  pending: ['granted', 'denied', 'cancelled', 'failed'],
  input_required: ['granted', 'denied', 'cancelled', 'failed'],
  granted: ['pending', 'input_required', 'claimed', 'denied', 'cancelled', 'failed'],
  claimed: ['executed', 'execution_error', 'outcome_unknown'],
  executed: [],
  execution_error: [],
  outcome_unknown: [],
  denied: [],
  cancelled: [],
  failed: [],
} as const satisfies Record<GatedCallState, readonly GatedCallState[]>;

/** Whether a gated call in this state is over; such a state never changes. */
export function isTerminal(state: GatedCallState): boolean {
  return TRANSITIONS[state].length === 0;
}

/** Whether the worker can move a gated call in this state on by itself, without a resolution or an answer. */
export function workerCanProceed(state: GatedCallState): boolean {
  return state === 'granted' || state === 'claimed';
}

/** Why a gated call ended without execution, or why its execution has no result. */
export const END_REASONS = [
  'resolution_denied',
  'policy_denied',
  'request_expired',
  'approval_expired',
  'approval_used',
  'chain_limit',
  'binding_integrity',
  'tool_changed',
  'requirement_unmet',
  'obligation_unmet',
  'input_missing',
  'input_declined',
  'client_cancelled',
  'request_cancelled',
  'abandoned',
  'submission_refused',
  'resolution_failed',
  'not_sent',
  'no_result',
  'restored',
] as const;

export type EndReason = (typeof END_REASONS)[number];

/** The outcome of execution, as clients read it. @see SEP-2848, Execution disposition */
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

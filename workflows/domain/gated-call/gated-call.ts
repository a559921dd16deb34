/**
 * The states of a gated call in the order of its life, the last six of which are ends, and the transitions from each. The database holds the
 * same table and refuses everything else. `failed`, `denied` and `cancelled` cannot be reached while execution is claimed (SEP-2848,
 * Lifecycle and Cancellation). A claim is given up only while its permit to send was not given, so that nothing can have been sent.
 */
export const TRANSITIONS = {
  preparing: ['pending', 'denied', 'cancelled', 'failed'],
  pending: ['granted', 'denied', 'cancelled', 'failed'],
  input_required: ['granted', 'denied', 'cancelled', 'failed'],
  granted: ['pending', 'input_required', 'claimed', 'denied', 'cancelled', 'failed'],
  claimed: ['granted', 'executed', 'execution_error', 'outcome_unknown'],
  executed: [],
  execution_error: [],
  outcome_unknown: [],
  denied: [],
  cancelled: [],
  failed: [],
} as const;

export type GatedCallState = keyof typeof TRANSITIONS;
export const GATED_CALL_STATES = Object.keys(TRANSITIONS) as GatedCallState[];

/** Whether a gated call in this state is over; such a state never changes. */
export function isTerminal(state: GatedCallState): boolean {
  const next: readonly GatedCallState[] = TRANSITIONS[state];
  return next.length === 0;
}

/** Whether the worker can move a gated call in this state on by itself, without a resolution or an answer. */
export function workerCanProceed(state: GatedCallState): boolean {
  return state === 'granted' || state === 'claimed';
}

/** Why a gated call ended without execution, or why its execution has no result; and who or what ended it then. */
export const ENDED_BY = {
  resolution_denied: 'resolution',
  resolution_failed: 'resolution',
  request_cancelled: 'resolution',
  policy_denied: 'policy',
  chain_limit: 'policy',
  obligation_unmet: 'policy',
  request_expired: 'time',
  approval_expired: 'time',
  client_cancelled: 'requester',
  input_declined: 'requester',
  approval_used: 'checks',
  binding_integrity: 'checks',
  tool_changed: 'checks',
  requirement_unmet: 'checks',
  input_missing: 'checks',
  abandoned: 'checks',
  submission_refused: 'checks',
  not_sent: 'checks',
  no_result: 'checks',
  restored: 'checks',
} as const;

export type EndReason = keyof typeof ENDED_BY;
export const END_REASONS = Object.keys(ENDED_BY) as EndReason[];

/** The outcome of execution, as clients read it. @see SEP-2848, Execution disposition */
export type Disposition = 'approved-executed' | 'denied-not-executed' | 'execution-error' | 'outcome-unknown';

const DISPOSITIONS: Partial<Record<GatedCallState, Disposition>> = {
  executed: 'approved-executed',
  execution_error: 'execution-error',
  outcome_unknown: 'outcome-unknown',
  denied: 'denied-not-executed',
};

/** The disposition of a gated call; none while it is open, and none on `cancelled` and `failed`. Stored nowhere. */
export const dispositionOf = (state: GatedCallState): Disposition | undefined => DISPOSITIONS[state];

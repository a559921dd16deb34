import type { GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { OutcomeRecord, RecordedAccessRequest } from '../../../workflows/domain/gated-call/outcome-record.ts';

/** Something that happened to the call. */
export interface Happening {
  readonly at: string;
  readonly what: string;
  readonly detail?: string;
  /** `step` is a change of state; the others happened between two of them. */
  readonly kind: 'step' | 'policy' | 'approval' | 'execution';
}

const STEPS = {
  preparing: 'Put on hold',
  pending: 'Waiting for a resolution',
  input_required: 'Waiting for input',
  granted: 'Approval recorded',
  claimed: 'Claimed for execution',
  executed: 'Executed',
  execution_error: 'Execution error',
  outcome_unknown: 'Outcome unknown',
  denied: 'Denied',
  cancelled: 'Cancelled',
  failed: 'Failed',
} as const satisfies Record<GatedCallState, string>;

const POLICY = {
  requestable: 'Policy denied, but may be asked',
  allow: 'Policy allowed the call',
  deny: 'Policy denied the call',
  retry: 'Policy asked to try again later',
} as const satisfies Record<OutcomeRecord['decisions'][number]['kind'], string>;

/** Machine words for people: `no_result` is "no result". */
const plain = (word: string) => word.replaceAll('_', ' ');

/** What the access request service states that people did. */
function votesOf({ statement }: RecordedAccessRequest): Happening[] {
  if (statement?.kind !== 'stated') return [];
  const { votes, breakGlass, cancelled } = statement;
  const cast = votes.map(({ at, verdict, approver, castBy, stage }): Happening => ({
    at,
    what: verdict === 'approve' ? 'Vote to approve' : 'Vote to deny',
    detail: `${(castBy ?? approver).subject}${stage === undefined ? '' : `, stage ${stage}`}`,
    kind: 'approval',
  }));
  if (breakGlass !== undefined) {
    cast.push({ at: breakGlass.at, what: 'Granted by break-glass', detail: breakGlass.by.subject, kind: 'approval' });
  }
  if (cancelled?.at !== undefined) {
    const who = cancelled.by?.subject ?? cancelled.client;
    cast.push({
      at: cancelled.at,
      what: 'Request given up',
      ...(who !== undefined && { detail: who }),
      kind: 'approval',
    });
  }
  return cast;
}

/** Everything the record knows, in the order in which it happened. */
export function timelineOf(record: OutcomeRecord): readonly Happening[] {
  const steps = record.transitions.map(({ at, to, cause }): Happening => ({
    at,
    what: cause === 'input_given' ? 'Input given' : STEPS[to],
    detail: plain(cause),
    kind: 'step',
  }));
  const decisions = record.decisions.map(({ evaluatedAt, kind, reason }): Happening => ({
    at: evaluatedAt,
    what: POLICY[kind],
    ...(reason && { detail: plain(reason) }),
    kind: 'policy',
  }));
  const votes = record.accessRequests.flatMap(votesOf);
  const approvals = record.accessRequests.flatMap(({ approvedAt, generation }): Happening[] =>
    approvedAt ? [{ at: approvedAt, what: 'Approved', detail: `access request ${generation}`, kind: 'approval' }] : [],
  );
  const { invocation } = record;
  const sending: Happening[] = invocation
    ? [{ at: invocation.beganAt, what: 'Permit to send given', kind: 'execution' }]
    : [];
  if (invocation?.notSentAt) sending.push({ at: invocation.notSentAt, what: 'Nothing was sent', kind: 'execution' });
  // The sort keeps equal instants in this order, which is the order of the steps among themselves.
  return [...decisions, ...votes, ...approvals, ...steps, ...sending].sort((a, b) =>
    a.at < b.at ? -1 : a.at > b.at ? 1 : 0,
  );
}

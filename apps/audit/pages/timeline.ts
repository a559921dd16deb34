import type { GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { OutcomeRecord, RecordedAccessRequest } from '../../../workflows/domain/gated-call/outcome-record.ts';

interface Happening {
  readonly at: string;
  readonly what: string;
  readonly detail?: string | undefined;
  /** `step` is a change of state; the others happened between two of them. */
  readonly kind: 'step' | 'policy' | 'preview' | 'approval' | 'execution';
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
  requestable: 'Policy denied the call, but it can be requested',
  allow: 'Policy allowed the call',
  deny: 'Policy denied the call',
  retry: 'Policy asked to try again later',
} as const satisfies Record<OutcomeRecord['decisions'][number]['kind'], string>;

const plain = (word: string) => word.replaceAll('_', ' ');

/** Actions of people, as the access request service states them. */
function votesOf({ statement }: RecordedAccessRequest): Happening[] {
  if (statement?.kind !== 'stated') return [];
  const { votes, extensions = [], handOvers = [], questions = [], breakGlass, cancelled } = statement;
  const happened = (at: string, what: string, detail: string | undefined): Happening => ({
    ...{ at, what, detail, kind: 'approval' },
  });
  return [
    ...votes.map(({ at, verdict, approver, castBy, stage }) =>
      happened(
        at,
        verdict === 'approve' ? 'Vote to approve' : 'Vote to deny',
        `${(castBy ?? approver).subject}${stage === undefined ? '' : `, stage ${stage}`}`,
      ),
    ),
    ...extensions.map(({ at, by, stage }) => happened(at, 'More time for a stage', `${by.subject}, stage ${stage}`)),
    ...handOvers.map(({ at, by, to }) => happened(at, 'Handed over', `${by.subject} to ${to}`)),
    ...questions.flatMap(({ at, by, answer }) => [
      happened(at, 'Question to the requester', by.subject),
      ...(answer === undefined ? [] : [happened(answer.at, 'Answer of the requester', `to ${by.subject}`)]),
    ]),
    ...(breakGlass ? [happened(breakGlass.at, 'Granted by break-glass', breakGlass.by.subject)] : []),
    ...(cancelled?.at ? [happened(cancelled.at, 'Request withdrawn', cancelled.by?.subject ?? cancelled.client)] : []),
  ];
}

/** Everything in the record, in the order in which it happened. */
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
    detail: reason && plain(reason),
    kind: 'policy',
  }));
  const previews = (record.previews ?? []).map(({ takenAt, tool, fault }): Happening => ({
    at: takenAt,
    what: fault === undefined ? 'Preview shown to approvers' : 'No preview',
    detail: fault === undefined ? tool : plain(fault),
    kind: 'preview',
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
  // The sort keeps the order of equal instants, so the steps stay in their own order.
  return [...decisions, ...previews, ...votes, ...approvals, ...steps, ...sending].sort((a, b) =>
    a.at < b.at ? -1 : a.at > b.at ? 1 : 0,
  );
}

import type { Principal } from '../principal.ts';
import { isPastApprovers, whoDecided, type WhoDecided } from './who-decided.ts';
import { contradictionsOf, type Evidence, type OutcomeRecord, type SiblingCall } from './outcome-record.ts';

/** The end of the question of consent. */
export type Verdict = 'approval' | 'denial' | 'expiry' | 'cancellation' | 'failure';

/** The five questions of an auditor, answered as data and in words. @see SEP-2848, reviewers' verifier questions */
export interface Answers {
  /** One sentence that answers the first question. */
  readonly headline: string;
  /** Did the tool execute? `unknown` is never rounded to either side. */
  readonly didRun: { readonly answer: 'yes' | 'no' | 'unknown'; readonly why: string };
  /** Which call does the record belong to? */
  readonly call: {
    readonly tool: string;
    readonly callDigest: string;
    readonly toolDigest: string;
    readonly requester: Principal;
    readonly why: string;
  };
  /** On whose decision did it run, or not? */
  readonly whoDecided: WhoDecided;
  /** Was approval, denial or cancellation final before anything executed? */
  readonly terminalBeforeExecution: {
    readonly verdict: Verdict;
    readonly wasDecidedBeforeExecution: boolean;
    readonly why: string;
  };
  /** Could a retry or a lost consumer have run it a second time? */
  readonly couldRunTwice: {
    readonly answer: 'no' | 'unknown';
    readonly claimCount: number;
    readonly invocationCount: number;
    readonly siblings: readonly SiblingCall[];
    readonly why: string;
  };
  /** Contradictions in the evidence. One is enough to make `didRun` and `couldRunTwice` unknown. */
  readonly contradictions: readonly string[];
}

/** Answers from the sealed record, compared with the tables. A record that contradicts itself proves nothing. */
export function answersOf(record: OutcomeRecord, evidence: Evidence): Answers {
  const contradictions = contradictionsOf(record, evidence);
  const reliable = contradictions.length === 0;
  const didRun = reliable
    ? whetherItRan(record)
    : { answer: 'unknown' as const, why: 'The evidence contradicts itself, so the record proves neither.' };
  const ran = headline(record, didRun.answer);
  return {
    // Auditors must not overlook a grant past the approvers, so the headline has it.
    headline: isPastApprovers(record) ? `${ran} One person granted it alone, by break-glass.` : ran,
    didRun,
    call: {
      tool: record.tool,
      callDigest: record.callDigest,
      toolDigest: record.toolDigest,
      requester: record.requester,
      why: 'The digest names the tool with its arguments. An operator who has both finds the record by it.',
    },
    whoDecided: whoDecided(record),
    terminalBeforeExecution: whatCameFirst(record),
    couldRunTwice: whetherTwice(evidence, reliable),
    contradictions,
  };
}

function headline(record: OutcomeRecord, ran: 'yes' | 'no' | 'unknown'): string {
  if (ran === 'no') return 'The tool did not run.';
  if (ran === 'unknown') return 'The tool may have run.';
  return record.state === 'executed' ? 'The tool ran once.' : 'The tool ran once, and its result is an error.';
}

const UNCLAIMED = 'It ended before execution was claimed, and an ended call cannot be claimed.';
const GIVEN_UP =
  'Each claim was given up before its permit to send was given, so nothing was sent. An ended call cannot be claimed.';

function whetherItRan(record: OutcomeRecord): Answers['didRun'] {
  switch (record.state) {
    case 'executed':
      return { answer: 'yes', why: 'It was claimed, sent once, and the tool answered with a result.' };
    case 'execution_error':
      if (record.result)
        return { answer: 'yes', why: 'It was claimed, sent once, and the tool answered with an error.' };
      return { answer: 'no', why: 'It was claimed, but nothing was sent to the tool.' };
    case 'outcome_unknown':
      return { answer: 'unknown', why: 'It was sent once and no answer was read. It is never sent again.' };
    case 'denied':
    case 'cancelled':
    case 'failed':
      return { answer: 'no', why: record.transitions.some(({ to }) => to === 'claimed') ? GIVEN_UP : UNCLAIMED };
  }
}

function whatCameFirst(record: OutcomeRecord): Answers['terminalBeforeExecution'] {
  const verdict = verdictOf(record);
  if (verdict !== 'approval') {
    const before = record.claim === undefined && record.invocation === undefined;
    const why = before ? `The ${verdict} was final and nothing executed.` : `There is a claim beside the ${verdict}.`;
    return { verdict, wasDecidedBeforeExecution: before, why };
  }
  const before = isApprovedFirst(record);
  const why = before
    ? 'The approval was recorded, then policy allowed the call, then it was claimed, then sent.'
    : 'The record does not show approval, policy decision, claim and sending in this order.';
  return { verdict, wasDecidedBeforeExecution: before, why };
}

function verdictOf({ state, reason }: OutcomeRecord): Verdict {
  if (state === 'cancelled') return 'cancellation';
  if (state === 'failed') return 'failure';
  if (state !== 'denied') return 'approval';
  return reason === 'request_expired' || reason === 'approval_expired' ? 'expiry' : 'denial';
}

/** Approval, then a new policy decision that the claim names, then the claim, then the sending. */
function isApprovedFirst({ transitions, decisions, accessRequests, claim, invocation }: OutcomeRecord): boolean {
  if (!claim) return false;
  // A claim before it may have been given up.
  const claimed = transitions.map(({ to }) => to).lastIndexOf('claimed');
  const granted = transitions[claimed - 1]?.to === 'granted';
  const approved = accessRequests.some((one) => one.generation === claim.generation && one.approvalId !== undefined);
  const allowed = decisions.some(
    (one) => one.id === claim.decisionId && one.kind === 'allow' && one.evaluatedAt <= claim.claimedAt,
  );
  return granted && approved && allowed && (!invocation || claim.claimedAt <= invocation.beganAt);
}

function whetherTwice(evidence: Evidence, reliable: boolean): Answers['couldRunTwice'] {
  const { claimCount, invocationCount, siblings } = evidence;
  const counts = { claimCount, invocationCount, siblings };
  if (!reliable) return { answer: 'unknown', ...counts, why: 'The evidence contradicts itself.' };
  const fence =
    claimCount === 0
      ? 'It was never claimed and has ended, so it cannot be claimed any more.'
      : `The database allows one claim and one permit to send per call; there ${invocationCount === 1 ? 'is one of each' : 'is one claim and no permit'}, and the call has ended.`;
  return { answer: 'no', ...counts, why: `${fence}${aboutSiblings(siblings)}` };
}

function aboutSiblings(siblings: readonly SiblingCall[]): string {
  const reached = siblings.filter(({ state }) => REACHED_EXECUTION.has(state)).length;
  if (siblings.length === 0) return ' No other gated call has the same tool and arguments.';
  if (siblings.length === 1) {
    const end = reached === 1 ? 'reached execution' : 'did not reach execution';
    return ` One other gated call has the same tool and arguments; it had decisions of its own and ${end}.`;
  }
  return ` ${siblings.length} other gated calls have the same tool and arguments, each with decisions of its own; ${reached} of them reached execution.`;
}

const REACHED_EXECUTION: ReadonlySet<string> = new Set(['claimed', 'executed', 'execution_error', 'outcome_unknown']);

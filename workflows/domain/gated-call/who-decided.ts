import type { ResolutionStatement, StatedPerson, StatedVote } from '../access-request/statement.ts';
import { ENDED_BY, type EndReason, type GatedCallState } from './gated-call.ts';
import type { OutcomeRecord, RecordedAccessRequest } from './outcome-record.ts';

/**
 * Who or what decided about the call. `approvers`: people, agents or resolvers in their stages. `break_glass`: one person past
 * them. `withdrawn`: the request was given up where approvers decide. `requester`: the caller. `policy`: a decision after the
 * approval. `time`: a deadline. `checks`: the checks before an execution. `not_stated`: the access request service resolved the
 * request and did not say who. `unreadable`: its statement could not be read.
 */
export type Decider =
  | 'approvers'
  | 'break_glass'
  | 'withdrawn'
  | 'requester'
  | 'policy'
  | 'time'
  | 'checks'
  | 'not_stated'
  | 'unreadable';

/** A person who decided, and the person in whose place they decided. */
export interface DecidingPerson extends StatedPerson {
  readonly inPlaceOf?: StatedPerson;
}

/** On whose decision the call ran, or did not. */
export interface WhoDecided {
  readonly by: Decider;
  /** The people who decided, as the access request service states. Empty where no person did. */
  readonly people: readonly DecidingPerson[];
  readonly why: string;
}

/** Whether one person granted a request of the call past its approvers. */
export const isPastApprovers = ({ accessRequests }: OutcomeRecord): boolean =>
  accessRequests.some((one) => statedBy(one)?.breakGlass !== undefined);

/** Answered from the record alone. A statement of the access request service is named as its statement. */
export function whoDecided(record: OutcomeRecord): WhoDecided {
  const { state, reason, accessRequests } = record;
  const last = accessRequests.at(-1);
  if (state === 'denied' || state === 'cancelled' || state === 'failed') {
    const how = reason === undefined ? 'checks' : ENDED_BY[reason];
    return how === 'resolution' ? resolvedBy(last) : { by: how, people: [], why: ENDED_WHY[how] };
  }
  return approvedBy(accessRequests.filter(({ approvalId }) => approvalId !== undefined));
}

const ENDED_WHY = {
  policy: 'Policy was asked again, and did not allow the call.',
  time: 'A deadline passed. No person ended the call; votes that were cast until then are below where they are known.',
  requester: 'The caller gave the call up. Votes cast by then are not known here: the request was not read again.',
  checks: 'No person ended the call: a check before the execution failed, as the reason says.',
} as const;

function statedBy({ statement }: RecordedAccessRequest): ResolutionStatement | undefined {
  return statement?.kind === 'stated' ? statement : undefined;
}

const NOT_STATED: WhoDecided = {
  by: 'not_stated',
  people: [],
  why: 'The access request service resolved the request and does not state who did. Ask it for its own record.',
};
const UNREADABLE: WhoDecided = {
  by: 'unreadable',
  people: [],
  why: 'The access request service states who resolved the request, and its statement could not be read.',
};

/** The approvers behind an execution, over all access requests of the call. */
function approvedBy(approved: readonly RecordedAccessRequest[]): WhoDecided {
  if (approved.length === 0) return { by: 'checks', people: [], why: 'The record holds no approval for the call.' };
  if (approved.some(({ statement }) => statement?.kind === 'unreadable')) return UNREADABLE;
  const statements = approved.flatMap((one) => statedBy(one) ?? []);
  if (statements.length < approved.length) return NOT_STATED;
  const alone = statements.flatMap(({ breakGlass }) => breakGlass?.by ?? []);
  const inStages = statements.filter(({ breakGlass }) => breakGlass === undefined);
  const voters = inStages.flatMap(approvalsIn).map(voterOf);
  const people = distinct([...alone, ...voters]);
  if (alone.length > 0) {
    const why =
      'One person granted it alone in an emergency, past the approvers of the stages. The access request service states so.';
    return { by: 'break_glass', people, why };
  }
  const why = 'They approved, in each stage as many as it asks for. The access request service states so.';
  return { by: 'approvers', people, why };
}

/** Who denied a request, or gave it up. */
function resolvedBy(request: RecordedAccessRequest | undefined): WhoDecided {
  if (request?.statement?.kind === 'unreadable') return UNREADABLE;
  const stated = request && statedBy(request);
  if (stated === undefined) return NOT_STATED;
  const { status, cancelled } = stated;
  if (status === 'cancelled') {
    const people = cancelled?.by === undefined ? [] : [cancelled.by];
    return { by: 'withdrawn', people, why: 'The request was given up at the access request service, which states so.' };
  }
  if (status === 'failed') {
    return { by: 'checks', people: [], why: 'The access request service could not decide the request, and states so.' };
  }
  const people = distinct(denialsIn(stated).map(voterOf));
  if (people.length > 0) {
    return { by: 'approvers', people, why: 'They denied it. The access request service states so.' };
  }
  const why =
    'The access request service ended the request and states no denial: its time, or the time of a stage, was over.';
  return { by: 'time', people: [], why };
}

/** The approvals that settled a stage. A stage that ran out of time has none, though people may have approved in it. */
function approvalsIn({ votes, stages = [] }: ResolutionStatement): readonly StatedVote[] {
  const counted = votes.filter((vote) => vote.verdict === 'approve' && vote.hasLapsed === undefined);
  const isSettled = (stage: number) =>
    counted.filter((vote) => vote.stage === stage).length >= (stages[stage - 1]?.quorum ?? 1);
  // A service without stages counts every approval.
  return counted.filter(({ stage }) => stage === undefined || isSettled(stage));
}

/** The denials that ended a request. A request that ended otherwise has none, though people may have denied it. */
const denialsIn = ({ status, votes }: ResolutionStatement): readonly StatedVote[] =>
  status === 'denied' ? votes.filter(({ verdict }) => verdict === 'deny') : [];

/** The votes on the last access request of an ended call that decided the call. None if policy, a deadline or a single person did. */
export function decidingVotes(
  { state, reason }: { readonly state: GatedCallState; readonly reason: EndReason | null },
  stated: ResolutionStatement,
): readonly StatedVote[] {
  if (reason === 'resolution_denied') return denialsIn(stated);
  const hasNotRun = state === 'denied' || state === 'cancelled' || state === 'failed';
  return hasNotRun || stated.breakGlass !== undefined ? [] : approvalsIn(stated);
}

const voterOf = ({ approver, castBy }: StatedVote): DecidingPerson =>
  castBy === undefined ? approver : { ...castBy, inPlaceOf: approver };

const distinct = (people: readonly DecidingPerson[]): DecidingPerson[] => [
  ...new Map(people.map((one) => [JSON.stringify([one.subject, one.inPlaceOf?.subject]), one])).values(),
];

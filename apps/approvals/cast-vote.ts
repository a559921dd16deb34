import type { Logger } from 'pino';
import type {
  AccessRequest,
  Approver,
  Verdict,
  VoteChannel,
} from '../../workflows/domain/access-request/access-request.ts';
import {
  electorateOf,
  type Ineligibility,
  ineligibilityOf,
  lapsedApprovers,
  type People,
} from '../../workflows/domain/access-request/eligibility.ts';
import { earlierVote } from '../../workflows/domain/access-request/quorum.ts';
import { Refusal } from '../shared/http/csrf.ts';
import { randomText } from '../shared/crypto.ts';
import { oneLine } from './access-requests/problem.ts';
import type { AccessRequestStore, VoteOutcome } from './stores/access-request.store.ts';

/** A verdict with who gave it and what they had before their eyes. */
export interface Ballot {
  readonly requestId: string;
  readonly approver: Approver;
  /** Who speaks in the approver's place, and by which delegation. */
  readonly standIn?: { readonly subject: string; readonly name?: string; readonly delegationId: string } | undefined;
  /** What stands behind the vote beside these (`behind`). No name of it may have a part in what is asked. */
  readonly chain?: readonly string[] | undefined;
  /** Subjects that act for who speaks, by their token. */
  readonly actors?: readonly string[] | undefined;
  readonly verdict: Verdict;
  readonly reason: string | undefined;
  readonly callDigest: string;
  /** Absent: the generation the request has. */
  readonly generation: number | undefined;
  /** The stage that was looked at, counted from 1. Absent: the one that is open. */
  readonly stage?: number | undefined;
  readonly via: VoteChannel;
  /** The signed message that carried it, when it came in one. */
  readonly message?: { readonly source: string; readonly webhookId: string; readonly bodyDigest: string };
}

export type CastOutcome = VoteOutcome | Ineligibility | 'conflict';
export type CastVote = (ballot: Ballot) => Promise<CastOutcome>;

/** The one way to a vote, whichever door it came through: page, API or signed message. */
export function createCastVote(deps: { store: AccessRequestStore; people: () => People; log: Logger }): CastVote {
  const { store, log } = deps;
  return async (ballot) => {
    const request = await store.find(ballot.requestId);
    if (request === undefined) return 'not_found';
    const people = deps.people();
    // Who has voted is told so by the database, even when the stage that is open now is for others.
    const voter = { ...ballot.approver, castBy: ballot.standIn?.subject, chain: ballot.chain, actors: ballot.actors };
    const hasVoted = earlierVote(request, voter, ballot.stage) !== undefined;
    const ineligible = hasVoted ? undefined : ineligibilityOf(voter, request, people);
    const counted = ineligible ?? (await count(store, ballot, { request, people }));
    // Who tried what is on record even when it came to nothing; reasons and arguments are not for the log.
    const facts = { accessRequest: ballot.requestId, verdict: ballot.verdict, via: ballot.via, outcome: counted };
    if (counted === 'counted' || counted === 'repeated') log.info(facts, 'a vote was counted');
    else log.warn(facts, 'a vote was refused');
    return counted;
  };
}

function count(
  store: AccessRequestStore,
  { message, ...ballot }: Ballot,
  { request, people }: { request: AccessRequest; people: People },
) {
  const approvalId = `apr_${randomText(16)}`;
  const vote = {
    ...ballot,
    approver: named(ballot.approver, people),
    ...(ballot.standIn && { standIn: named(ballot.standIn, people) }),
    reason: oneLine(ballot.reason),
    approvalId,
    judgedStage: request.stage,
    facts: factsOf(request, people),
  };
  return message === undefined ? store.castVote(vote) : store.acceptDecision(message, vote);
}

/** What only the directory knows of the stage that is open. */
export const factsOf = (request: AccessRequest, people: People) => ({
  lapsed: lapsedApprovers(request, people),
  electorate: electorateOf(request, people),
});

type VoteRefused = Exclude<CastOutcome, 'counted' | 'repeated'>;

/** What a vote that was not counted is answered with. */
const REFUSALS = {
  not_found: [
    404,
    'There is no such request',
    'Look at how its id was copied. The list has all requests that you may read.',
  ],
  own_request: [
    403,
    'You asked for this yourself',
    'You did, by one of your names, or the client or an actor of your token did. Another approver has to decide it. If only the client of your token is why, decide in the inbox, or with a token of another client.',
  ],
  delegate_of_requester: [
    403,
    'You stand in for somebody who asked for this',
    'Somebody else has to decide it, even when you no longer stand in.',
  ],
  delegation_over: [
    403,
    'You do not stand in for them',
    'The delegation has ended, or was revoked. Nothing was decided.',
  ],
  not_eligible: [403, 'This is for others to decide', 'The request says who may decide it.'],
  stage_over: [409, 'The stage that you looked at is over', 'Nothing was decided. Read the request as it is now.'],
  mismatch: [409, 'This is not the call that was looked at', 'Nothing was decided. Read the request as it is now.'],
  already_voted: [409, 'You have decided this already', 'A decision cannot be taken back.'],
  final: [409, 'This request has ended', 'Nothing was changed. The request says how it ended.'],
  conflict: [409, 'This message id was used before', 'Send a new message under a new id.'],
} as const satisfies Record<VoteRefused, readonly [number, string, string]>;

/** For a request that does not exist, and for one that is for others to read. */
export const noSuchRequest = (): Refusal => refusalOf('not_found', '');

/** Throws a `Refusal` unless the vote was counted, now or before. */
export function refuseUncounted(outcome: CastOutcome, requestId: string): void {
  if (outcome !== 'counted' && outcome !== 'repeated') throw refusalOf(outcome, requestId);
}

function refusalOf(outcome: VoteRefused, requestId: string): Refusal {
  const [status, title, nextStep] = REFUSALS[outcome];
  const link =
    outcome === 'not_found'
      ? { href: '/requests', label: 'To the open requests' }
      : { href: `/requests/${encodeURIComponent(requestId)}`, label: 'Open the request' };
  return new Refusal(status, title, nextStep, link);
}

/**
 * Somebody with the name by which they are displayed now: that of the directory, else that of their sign-in. Without a name where
 * neither knows one. Names change, so it is kept with what they decide.
 */
export function named<Person extends { readonly subject: string; readonly name?: string }>(
  person: Person,
  people: People,
): Person {
  const { name: signedInAs, ...rest } = person;
  const name = people.find(person.subject)?.displayName ?? signedInAs;
  return { ...rest, ...(name !== undefined && name !== person.subject && { name }) } as Person;
}

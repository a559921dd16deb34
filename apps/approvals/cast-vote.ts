import type { Logger } from 'pino';
import type { AccessRequest } from '../../workflows/domain/access-request/access-request.ts';
import {
  electorateOf,
  type Ineligibility,
  ineligibilityOf,
  lapsedApprovers,
  type People,
} from '../../workflows/domain/access-request/eligibility.ts';
import { earlierVote } from '../../workflows/domain/access-request/quorum.ts';
import { signInAgain } from '../shared/auth/fresh-sign-in.ts';
import { Refusal } from '../shared/http/csrf.ts';
import { randomText } from '../shared/crypto.ts';
import { singleLine } from './access-requests/problem.ts';
import { openStage } from '../../workflows/domain/access-request/stages.ts';
import type { Passkeys } from './passkeys/passkeys.ts';
import type { AccessRequestStore, VoteOutcome } from './stores/access-request.store.ts';
import type { GrantStore, NewGrant } from './stores/grant.store.ts';
import type { Ballot, NewVote } from './stores/new-rows.ts';

/** A ballot, with the signed message that carried it, if any. */
type SentBallot = Ballot & {
  readonly message?: { readonly source: string; readonly webhookId: string; readonly bodyDigest: string };
  /** The answer of a passkey to the page of the request, if any. */
  readonly passkey?: { readonly nonce: string; readonly answer: string } | undefined;
  /** The grant that the approver gives with their approval, if any. */
  readonly grant?: NewGrant;
};

export type CastOutcome = VoteOutcome | Ineligibility | 'conflict' | 'not_grantable';
export type CastVote = (ballot: SentBallot) => Promise<CastOutcome>;

interface CastVoteOptions {
  readonly store: AccessRequestStore;
  readonly grants: Pick<GrantStore, 'give'>;
  readonly passkeys: Pick<Passkeys, 'confirm'>;
  readonly people: () => People;
  readonly log: Logger;
}

/** Casts a vote, from any channel: page, API or signed message. */
export function createCastVote(deps: CastVoteOptions): CastVote {
  const { store, log } = deps;
  return async (ballot) => {
    const request = await store.find(ballot.requestId);
    if (request === undefined) return 'not_found';
    const people = deps.people();
    // The database tells earlier voters that they have voted, even when the open stage is for others.
    const { approver, standIn, chain, actors, session } = ballot;
    const aliases = [...(approver.aliases ?? []), ...(standIn?.aliases ?? [])];
    const voter = { ...approver, aliases, castBy: standIn?.subject, chain, actors, session };
    const hasVoted = earlierVote(request, voter, ballot.stage) !== undefined;
    const ineligible = hasVoted ? undefined : ineligibilityOf(voter, request, people);
    const confirmed = hasVoted || ineligible ? undefined : await confirmedBy(ballot, request, deps.passkeys);
    const counted =
      ineligible ??
      (typeof confirmed === 'string' ? confirmed : await count(deps, ballot, { request, people, confirmed }));
    // Refused votes are logged as well. Reasons and arguments must not be in the log.
    const facts = {
      accessRequest: ballot.requestId,
      verdict: ballot.verdict,
      via: ballot.via,
      grant: ballot.grant?.id,
      outcome: counted,
    };
    if (counted === 'counted' || counted === 'repeated') log.info(facts, 'a vote was counted');
    else if (counted === 'passkey_copied')
      log.error({ ...facts, alarm: 'passkey_copied' }, 'there is a copy of a passkey');
    else log.warn(facts, 'a vote was refused');
    return counted;
  };
}

/**
 * The verified signature of the voter's passkey. Undefined if there is none, or if the stage demands none. It is about the call and the stage
 * that the voter saw, which the database compares with those of the request.
 */
async function confirmedBy(
  { passkey, approver, standIn, verdict, callDigest, generation, stage }: SentBallot,
  request: AccessRequest,
  passkeys: Pick<Passkeys, 'confirm'>,
) {
  if (passkey === undefined || verdict !== 'approve' || openStage(request).passkey !== true) return undefined;
  const seen = { generation: generation ?? request.generation, stage: stage ?? request.stage, callDigest };
  const who = { approver: approver.subject, signer: standIn?.subject ?? approver.subject };
  return passkeys.confirm({ request: request.id, ...seen, ...who, nonce: passkey.nonce }, passkey.answer);
}

function count(
  { store, grants }: Pick<CastVoteOptions, 'store' | 'grants'>,
  { message, grant, passkey: _passkey, ...ballot }: SentBallot,
  { request, people, confirmed }: { request: AccessRequest; people: People; confirmed: NewVote['confirmed'] },
) {
  const approvalId = `apr_${randomText(16)}`;
  const vote = {
    ...ballot,
    approver: named(ballot.approver, people),
    ...(ballot.standIn && { standIn: named(ballot.standIn, people) }),
    reason: singleLine(ballot.reason),
    approvalId,
    ...(confirmed && { confirmed }),
    judgedStage: request.stage,
    facts: factsOf(request, people),
  };
  if (grant !== undefined) return grants.give(grant, vote);
  return message === undefined ? store.castVote(vote) : store.acceptDecision(message, vote);
}

/** Facts about the open stage that only the directory knows. */
export const factsOf = (request: AccessRequest, people: People) => ({
  lapsed: lapsedApprovers(request, people),
  electorate: electorateOf(request, people),
});

type VoteRefused = Exclude<CastOutcome, 'counted' | 'repeated' | 'sign_in_too_old'>;

const REFUSALS = {
  not_found: [
    404,
    'There is no such request',
    'Check that its id is complete. Or other people decide it: sign out, and open this address again as one of them. The list shows all requests that you can read.',
  ],
  own_request: [
    403,
    'You requested this yourself',
    'You did by one of your names, or the client or an actor of your token did. Another approver has to decide it. If only the client of your token is the reason, decide in the inbox or with a token of another client. If the request lets you confirm it, do that in the inbox, in your browser.',
  ],
  delegate_of_requester: [
    403,
    'You stand in for a person who requested this',
    'Another approver has to decide it, even after the delegation ends.',
  ],
  delegation_over: [
    403,
    'You do not stand in for this approver',
    'The delegation has ended or was revoked. Nothing was decided.',
  ],
  passkey_needed: [
    403,
    'This approval needs a passkey',
    'Nothing was decided. Open the request in the inbox, and confirm the approval with your passkey there. You can deny it without one.',
  ],
  passkey_invalid: [
    403,
    'The passkey did not confirm this approval',
    'Nothing was decided. Read the request again, and confirm it once more.',
  ],
  passkey_over: [
    409,
    'The page was too old, or was used before',
    'Nothing was decided. Read the request again, and confirm it once more.',
  ],
  passkey_unknown: [
    403,
    'This passkey is not registered for you',
    'Nothing was decided. It may have been removed. Use another passkey, or register this device on the page “Passkeys”.',
  ],
  passkey_copied: [
    403,
    'There is a copy of this passkey',
    'Nothing was decided, and the passkey was removed. Tell your administrators, and register another one on the page “Passkeys”.',
  ],
  not_eligible: [403, 'You cannot decide this request', 'The request says who can.'],
  not_in_chat: [403, 'This is not decided in a chat', 'Nothing was decided. Open the request, and decide there.'],
  stage_over: [409, 'The stage that you looked at has ended', 'Nothing was decided. Read the request again.'],
  mismatch: [409, 'The decision is about another call', 'Nothing was decided. Read the request again.'],
  already_voted: [
    409,
    'You have already decided this',
    'A person has one decision, by whichever of their names they sign in, and it cannot be changed.',
  ],
  final: [409, 'This request has ended', 'Nothing was changed. The request says how it ended.'],
  not_grantable: [
    409,
    'No grant was given',
    'Policy does not allow a grant on this request, or none as large as this. Nothing was decided. Decide this call by itself.',
  ],
  conflict: [409, 'This message id was used before', 'Send a new message with a new id.'],
} as const satisfies Record<VoteRefused, readonly [number, string, string]>;

/** For a request that does not exist, or that the visitor may not read. */
export const noSuchRequest = (): Refusal => refusalOf('not_found', '');

/** Throws a `Refusal` unless the vote is counted, now or by an earlier attempt. */
export function refuseUncounted(outcome: CastOutcome, requestId: string): void {
  if (outcome === 'sign_in_too_old') throw signInAgain(linkTo(requestId).href);
  if (outcome !== 'counted' && outcome !== 'repeated') throw refusalOf(outcome, requestId);
}

function refusalOf(outcome: VoteRefused, requestId: string): Refusal {
  const [status, title, nextStep] = REFUSALS[outcome];
  const link = outcome === 'not_found' ? { href: '/requests', label: 'To the open requests' } : linkTo(requestId);
  return new Refusal(status, title, nextStep, link);
}

/** Whether a table of refusals has the outcome. */
export const isOf = <Table extends object>(table: Table, outcome: PropertyKey): outcome is keyof Table =>
  Object.hasOwn(table, outcome);

/** The link of a refusal to the page of its request. */
export const linkTo = (id: string) => ({ href: `/requests/${encodeURIComponent(id)}`, label: 'Open the request' });

/**
 * A person with their current display name: from the directory, else from their sign-in, else none. Names change, so a decision
 * keeps the name of its time.
 */
export function named<Person extends { readonly subject: string; readonly name?: string }>(
  person: Person,
  people: People,
): Person {
  const { name: signedInAs, ...rest } = person;
  const name = people.find(person.subject)?.displayName ?? signedInAs;
  return { ...rest, ...(name !== undefined && name !== person.subject && { name }) } as Person;
}

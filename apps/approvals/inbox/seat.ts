import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { type AccessRequest, type Approver, isEnded } from '../../../workflows/domain/access-request/access-request.ts';
import {
  type Ineligibility,
  ineligibilityOf,
  isRequester,
  mayRead,
  ownNamesIn,
  type Reader,
} from '../../../workflows/domain/access-request/eligibility.ts';
import { nextExtension } from '../../../workflows/domain/access-request/extension.ts';
import { partIn } from '../../../workflows/domain/access-request/parties.ts';
import {
  canBeAsked,
  requesterPerson,
  unanswered,
} from '../../../workflows/domain/access-request/requester-question.ts';
import { type Confirmer, openStage } from '../../../workflows/domain/access-request/stages.ts';
import { isOnePerson, keysOf } from '../../../workflows/domain/access-request/same-person.ts';
import { earlierVote } from '../../../workflows/domain/access-request/quorum.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import type { BreakGlass, Withdraw } from '../break-glass.ts';
import type { Mailbox } from '../channels/mailbox.tsx';
import type { Push } from '../channels/push.ts';
import type { Passkeys } from '../passkeys/passkeys.ts';
import { readPreviews, type ShownPreviews } from '../access-requests/preview.ts';
import type { TakePreview } from '../access-requests/take-preview.ts';
import type { ExtendStage } from '../extend-stage.ts';
import { type HandOver, handOversBy } from '../hand-over.ts';
import type { AnswerAsRequester, AskRequester } from '../requester-questions.ts';
import { type CastVote, noSuchRequest } from '../cast-vote.ts';
import { readerRow, type ReaderRow } from '../listing.ts';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { StandIn } from '../stores/new-rows.ts';
import type { SentPreviews } from '../stores/previews.ts';
import type { PresetReasonsOf } from '../templates.ts';
import type { BreakGlassStore, BrokenGlass } from '../stores/break-glass.store.ts';
import { argumentsIn, MAX_OPEN_VALUES, openValues } from '../grants/scope.ts';
import type { StandIns, StillApprover } from '../stand-ins.ts';
import type { FigureStore } from '../stores/figures.ts';
import type { GrantStore } from '../stores/grant.store.ts';
import type { Delegation } from '../stores/delegation.store.ts';
import type { Doors, Voter } from './authenticate.ts';
import type { SummaryTemplateOf } from './summary.tsx';

/** The visitor, the approvers they stand in for, and the directory. */
export interface Seat {
  readonly visitor: Voter;
  readonly delegations: readonly Delegation[];
  readonly people: Directory;
  /** Whether the visitor may grant requests alone. */
  readonly mayBreakGlass: boolean;
}

/** The approver for whom a vote counts. Without a delegation it is the visitor. */
export interface Capacity {
  readonly approver: Approver;
  readonly standIn?: StandIn;
}

export type Obstacle = Ineligibility | 'final' | 'already_voted';

/** The vote that the visitor cast, or that was cast for them, which keeps them from voting in the open stage. */
export function ownVote({ visitor }: Pick<Seat, 'visitor'>, request: AccessRequestSummary) {
  return earlierVote(request, visitor, request.stage);
}

/** Why the visitor cannot vote, for themselves or for another approver; undefined when they can. */
export function obstacleTo(seat: Seat, request: AccessRequestSummary): Obstacle | undefined {
  if (isEnded(request.status)) return 'final';
  const own = ineligibilityOf(seat.visitor, request, seat.people);
  if (ownVote(seat, request) !== undefined) return 'already_voted';
  return capacitiesOf(seat, request).length > 0 ? undefined : (own ?? 'already_voted');
}

/** All capacities in which the visitor could vote now, their own first. */
export function capacitiesOf(seat: Seat, request: AccessRequestSummary): Capacity[] {
  if (isEnded(request.status)) return [];
  const { subject } = seat.visitor;
  const given = delegationsFor(request.id, seat);
  const all = [{ approver: seat.visitor }, ...given.map((one) => standingIn(one, seat.visitor))] as const;
  return all.filter(({ approver, ...rest }) => {
    const { aliases, chain, actors } = seat.visitor;
    const all = { aliases: [...(approver.aliases ?? []), ...aliases], chain, actors };
    // A visitor's session stands behind their own vote only.
    const voter = { ...approver, ...all, castBy: 'standIn' in rest ? subject : undefined };
    const isFree = earlierVote(request, voter, request.stage) === undefined;
    return isFree && ineligibilityOf(voter, request, seat.people) === undefined;
  });
}

/** The delegations to the visitor that hold for this request. */
export const delegationsFor = (requestId: string, { delegations }: Pick<Seat, 'delegations'>): Delegation[] =>
  delegations.filter(({ accessRequestId = requestId }) => accessRequestId === requestId);

/** The terms on which the visitor, as the requester, may confirm the open stage. Undefined for any other visitor. */
export function confirmationBy(
  { visitor }: Pick<Seat, 'visitor'>,
  request: AccessRequestSummary,
): Confirmer | undefined {
  const { approvers } = openStage(request);
  return ownNamesIn(visitor, approvers).length > 0 ? approvers.requester : undefined;
}

/**
 * The next extension of the open stage that the visitor may make, in whole minutes at most. Undefined if they may make none. They act in
 * their own name, and a requester who may confirm the request is still its requester.
 */
export function extensionBy({ visitor, people }: Pick<Seat, 'visitor' | 'people'>, request: AccessRequestSummary) {
  const { number, maxSeconds } = nextExtension(request);
  if (isEnded(request.status) || visitor.via === 'agent' || maxSeconds < 60) return undefined;
  if (ineligibilityOf({ ...visitor, session: undefined }, request, people) !== undefined) return undefined;
  return { number, maxMinutes: Math.floor(maxSeconds / 60) };
}

/**
 * The number of the next hand-over of this request that the visitor may make. Undefined if they may make none: they have to have a vote of
 * their own, that they have not cast, and no other hand-over of this request in force.
 */
export function handOverBy(seat: Pick<Seat, 'visitor' | 'people'>, request: AccessRequestSummary): number | undefined {
  const { visitor, people } = seat;
  if (isEnded(request.status) || visitor.via === 'agent' || ownVote(seat, request) !== undefined) return undefined;
  if (ineligibilityOf({ ...visitor, session: undefined }, request, people) !== undefined) return undefined;
  const made = handOversBy(visitor, request);
  return made.every(({ revokedAt }) => revokedAt !== undefined) ? made.length + 1 : undefined;
}

/**
 * The capacity in which the visitor may ask the requester: that of a vote which they could cast now. A requester who may confirm the request
 * is still its requester, so a session gives none.
 */
export function capacityToAsk(seat: Seat, request: AccessRequestSummary): Capacity | undefined {
  const { session: _session, ...visitor } = seat.visitor;
  const mayAsk = visitor.via !== 'agent' && ownVote(seat, request) === undefined;
  return mayAsk ? capacitiesOf({ ...seat, visitor }, request)[0] : undefined;
}

/** The number of the next question that the visitor may ask the requester of this request. Undefined if they may ask none. */
export function questionBy(seat: Seat, request: AccessRequestSummary): number | undefined {
  if (!canBeAsked(request) || capacityToAsk(seat, request) === undefined) return undefined;
  return (request.questions ?? []).filter(({ by }) => by.subject === seat.visitor.subject).length + 1;
}

/** Whether questions of this request wait for the visitor, who is its requester and is signed in with a browser. */
export function isAskedIn(request: AccessRequestSummary, { visitor }: Pick<Seat, 'visitor'>): boolean {
  const requester = requesterPerson(request);
  const isOwn = requester !== undefined && isRequester(visitor, requester);
  return isOwn && !isEnded(request.status) && unanswered(request).length > 0;
}

/** Whether the visitor may grant this request alone, now. */
export function canBreakGlass({ visitor, mayBreakGlass }: Seat, request: AccessRequestSummary): boolean {
  return mayBreakGlass && !isEnded(request.status) && partIn(request, namesOf(visitor)) === undefined;
}

/**
 * Whether the visitor may give a grant on this request: in a browser, in their own name, and while they could approve it. The form has a
 * line for each value of the arguments, so there must not be too many.
 */
export function canGiveGrant(seat: Seat, request: AccessRequest): boolean {
  const isOwn = capacitiesOf(seat, request).some(({ standIn }) => standIn === undefined);
  if (request.grantable === undefined || seat.visitor.via !== 'inbox' || !isOwn) return false;
  const args = argumentsIn(request.context);
  return args !== undefined && openValues(args).length <= MAX_OPEN_VALUES;
}

/** Whether the visitor may review an emergency grant. The granter, the requester and their stand-ins may not. */
export function canReview(seat: Seat, request: AccessRequestSummary, broken: BrokenGlass): boolean {
  const { visitor } = seat;
  const granter = [broken.grantedBy, ...broken.grantedChain];
  const standsInForGranter = delegationsFor(request.id, seat).some(({ delegator: { subject, aliases = [] } }) =>
    isOnePerson([subject, ...aliases], granter),
  );
  const involved = {
    parties: keysOf([...request.parties, broken.grantedBy, ...broken.grantedChain]),
    delegates: request.delegates,
  };
  return broken.review === undefined && partIn(involved, namesOf(visitor)) === undefined && !standsInForGranter;
}

/** All names by which the visitor can be a party to a request. */
export const namesOf = ({ subject, aliases, chain }: Pick<Voter, 'subject' | 'aliases' | 'chain'>): string[] => [
  subject,
  ...aliases,
  ...chain,
];

export function standingIn(
  { id, delegator }: Delegation,
  { subject, aliases, name }: Pick<Voter, 'subject' | 'aliases' | 'name'>,
): Capacity {
  return { approver: delegator, standIn: { subject, aliases, name, delegationId: id } };
}

export interface InboxHttp extends Doors {
  readonly store: Pick<AccessRequestStore, 'find' | 'list' | 'around' | 'kinds' | 'previews' | 'sameAgent' | 'askedOf'>;
  readonly castVote: CastVote;
  readonly takePreview: TakePreview;
  readonly extendStage: ExtendStage;
  readonly handOver: HandOver;
  readonly askRequester: AskRequester;
  readonly answerAsRequester: AnswerAsRequester;
  readonly passkeys: Passkeys;
  /** Undefined if notices of browsers are not configured. */
  readonly push: Push | undefined;
  /** Undefined outside development. */
  readonly mailbox: Pick<Mailbox, 'show'> | undefined;
  readonly delegations: StandIns;
  readonly grants: GrantStore;
  readonly figures: FigureStore;
  readonly still: StillApprover;
  readonly withdraw: Withdraw;
  readonly breakGlass: BreakGlass;
  readonly brokenGlass: BreakGlassStore;
  readonly presetReasons: PresetReasonsOf;
  readonly summaries: SummaryTemplateOf;
  /** Names that agents give themselves, by client id. */
  readonly agentNames: () => ReadonlyMap<string, string>;
  /** Public address of the auditors' pages, whose records an auditor finds from a request. */
  readonly auditUrl: string;
  /** Says when something changed. */
  readonly changes: RequestHandler;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A request that the visitor may read. */
export interface Reading {
  readonly request: AccessRequest;
  readonly seat: Seat;
  /** The emergency grant, if there was one. */
  readonly broken: BrokenGlass | undefined;
  /** Reasons that the form for a decision offers. */
  readonly presetReasons: readonly string[];
  /** The operator's sentence for calls of this tool. */
  readonly template: string | undefined;
}

/** An agent never stands in for an approver and never breaks glass, even if an approver delegated to it. */
export async function seatOf({ people, delegations, breakGlass }: InboxHttp, visitor: Voter): Promise<Seat> {
  const seat = { visitor, people: people() };
  if (visitor.via === 'agent') return { ...seat, mayBreakGlass: false, delegations: [] };
  const mayBreakGlass = breakGlass.mayBreak(visitor);
  return { ...seat, mayBreakGlass, delegations: await delegations.activeTo(visitor.subject) };
}

/**
 * The request, for a visitor who may read it. Throws the same `Refusal` (404) for an unreadable and for a missing request: a
 * guessed or forwarded id reveals nothing.
 */
export async function findReadable(http: InboxHttp, visitor: Voter, id: string): Promise<Reading> {
  const [request, seat] = await Promise.all([http.store.find(id), seatOf(http, visitor)]);
  if (request === undefined) throw noSuchRequest();
  const broken = await http.brokenGlass.find(id);
  if (!mayRead(readerOf(seat, delegationsFor(id, seat)), { ...request, emergency: broken }, seat.people)) {
    http.log.warn({ accessRequest: id, via: visitor.via }, 'a visitor asked for a request that they may not read');
    throw noSuchRequest();
  }
  const presetReasons = http.presetReasons(request.template);
  return { request, seat, broken, presetReasons, template: http.summaries(request.tool) };
}

/**
 * What the server of the tool says would happen. It is for those who decide: it ran without a decision of policy, so a requester who cannot
 * decide learns nothing by it. An approver who can decide may have it taken again.
 */
export async function previewsFor(
  { store, takePreview }: Pick<InboxHttp, 'store' | 'takePreview'>,
  { request, seat }: Pick<Reading, 'request' | 'seat'>,
): Promise<(ShownPreviews & Pick<SentPreviews, 'client'>) | undefined> {
  const isForOthers = partIn(request, namesOf(seat.visitor)) !== undefined && capacitiesOf(seat, request).length === 0;
  const sent = isForOthers ? undefined : await store.previews(request.id);
  const [latest, ...earlier] = sent === undefined ? [] : readPreviews(sent);
  if (sent === undefined || latest === undefined) return undefined;
  const isApprover = seat.visitor.via !== 'agent' && obstacleTo(seat, request) === undefined;
  return { latest, earlier, client: sent.client, canBeTaken: isApprover && takePreview.isOffered(sent.client) };
}

/** The reader of lists. */
export const readerRowOf = (seat: Seat): ReaderRow => {
  const general = seat.delegations.filter(({ accessRequestId }) => accessRequestId === undefined);
  const handedOver = seat.delegations.flatMap(({ delegator, accessRequestId: request }) =>
    request === undefined ? [] : [{ approver: delegator, request }],
  );
  const { chain, actors } = seat.visitor;
  return readerRow({ ...readerOf(seat, general), handedOver, chain, actors }, seat.people);
};

/** The reader of requests that these delegations concern. */
export const readerOf = ({ visitor, mayBreakGlass }: Seat, delegations: readonly Delegation[]): Reader => ({
  self: visitor,
  standsInFor: delegations.map(({ delegator }) => delegator),
  isPerson: visitor.via !== 'agent',
  mayBreakGlass,
});

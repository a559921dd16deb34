import type { Logger } from 'pino';
import { type AccessRequest, type Approver, isEnded } from '../../../workflows/domain/access-request/access-request.ts';
import {
  type Ineligibility,
  ineligibilityOf,
  mayRead,
  type Reader,
} from '../../../workflows/domain/access-request/eligibility.ts';
import { partIn } from '../../../workflows/domain/access-request/parties.ts';
import { earlierVote } from '../../../workflows/domain/access-request/quorum.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import type { BreakGlass } from '../break-glass.ts';
import { noSuchRequest } from '../cast-vote.ts';
import { readerRow, type ReaderRow } from '../listing.ts';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { BreakGlassStore, BrokenGlass } from '../stores/break-glass.store.ts';
import type { Delegation, DelegationStore } from '../stores/delegation.store.ts';
import type { Voter } from './authenticate.ts';

/** Who looks at the inbox, for whom they may speak beside themselves, and what the directory says. */
export interface Seat {
  readonly visitor: Voter;
  readonly delegations: readonly Delegation[];
  readonly people: Directory;
  /** Whether the visitor may grant requests alone. */
  readonly mayBreakGlass: boolean;
}

/** In whose name a vote counts. Without a delegation it is the visitor's own. */
export interface Capacity {
  readonly approver: Approver;
  readonly standIn?: { readonly subject: string; readonly name: string; readonly delegationId: string };
}

/** Why a visitor cannot decide a request. */
export type Obstacle = Ineligibility | 'final' | 'already_voted';

/** The vote in which the visitor spoke or was spoken for, which keeps them from voting in the stage that is open. */
export function ownVote({ visitor }: Pick<Seat, 'visitor'>, request: AccessRequestSummary) {
  return earlierVote(request, visitor, request.stage);
}

/** What is in the way of this visitor's vote, in their own name and in that of everybody else; undefined when nothing is. */
export function obstacleTo(seat: Seat, request: AccessRequestSummary): Obstacle | undefined {
  const own = ineligibilityOf(seat.visitor, request, seat.people);
  if (isEnded(request.status)) return own === undefined || own === 'not_eligible' ? 'final' : own;
  if (ownVote(seat, request) !== undefined) return 'already_voted';
  return capacitiesOf(seat, request).length > 0 ? undefined : (own ?? 'already_voted');
}

/** Every name in which the visitor could vote now, their own first. */
export function capacitiesOf(seat: Seat, request: AccessRequestSummary): Capacity[] {
  if (isEnded(request.status)) return [];
  const { subject } = seat.visitor;
  const all = [{ approver: seat.visitor }, ...seat.delegations.map((one) => standingIn(one, seat.visitor))] as const;
  return all.filter(({ approver, ...rest }) => {
    const { chain, actors } = seat.visitor;
    const voter = { ...approver, castBy: 'standIn' in rest ? subject : undefined, chain, actors };
    const isFree = earlierVote(request, voter, request.stage) === undefined;
    return isFree && ineligibilityOf(voter, request, seat.people) === undefined;
  });
}

/** Whether the visitor may grant this request alone, now. */
export function canBreakGlass({ visitor, mayBreakGlass }: Seat, request: AccessRequestSummary): boolean {
  return mayBreakGlass && !isEnded(request.status) && partIn(request, namesOf(visitor)) === undefined;
}

/** Whether the visitor may review an emergency grant: neither who granted it, nor who asked, nor who stands in for these. */
export function canReview({ visitor, delegations }: Seat, request: AccessRequestSummary, broken: BrokenGlass): boolean {
  const standsInForGranter = delegations.some(({ delegator }) => delegator.subject === broken.grantedBy);
  const involved = {
    parties: [...request.parties, broken.grantedBy, ...broken.grantedChain],
    delegates: request.delegates,
  };
  return broken.review === undefined && partIn(involved, namesOf(visitor)) === undefined && !standsInForGranter;
}

/** Every name by which the visitor may have a part in a request. */
export const namesOf = ({ subject, chain }: Pick<Voter, 'subject' | 'chain'>): string[] => [subject, ...chain];

/** The capacity that a delegation gives to its delegate. */
export function standingIn(
  { id, delegator }: Delegation,
  { subject, name }: Pick<Voter, 'subject' | 'name'>,
): Capacity {
  return { approver: delegator, standIn: { subject, name, delegationId: id } };
}

/** What it takes to know who may read which request. */
export interface ReadingHttp {
  readonly store: Pick<AccessRequestStore, 'find'>;
  readonly people: () => Directory;
  readonly delegations: Pick<DelegationStore, 'activeTo'>;
  readonly breakGlass: Pick<BreakGlass, 'mayBreak'>;
  readonly brokenGlass: Pick<BreakGlassStore, 'find'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A request before the eyes of a visitor who may read it. */
interface Reading {
  readonly request: AccessRequest;
  readonly seat: Seat;
  /** How it was granted, when that was in an emergency. */
  readonly broken: BrokenGlass | undefined;
}

/** An agent speaks for no other and grants nothing alone, though an approver delegated to it. */
export async function seatOf({ people, delegations, breakGlass }: ReadingHttp, visitor: Voter): Promise<Seat> {
  const seat = { visitor, people: people() };
  if (visitor.via === 'agent') return { ...seat, mayBreakGlass: false, delegations: [] };
  const mayBreakGlass = breakGlass.mayBreak(visitor);
  return { ...seat, mayBreakGlass, delegations: await delegations.activeTo(visitor.subject) };
}

/**
 * The request, for those who may read it. Throws the same `Refusal` (404) for a request that is for others and for one that does
 * not exist: a guessed or forwarded id tells nothing.
 */
export async function findReadable(http: ReadingHttp, visitor: Voter, id: string): Promise<Reading> {
  const [request, seat] = await Promise.all([http.store.find(id), seatOf(http, visitor)]);
  if (request === undefined) throw noSuchRequest();
  const broken = await http.brokenGlass.find(id);
  if (!mayRead(readerOf(seat), { ...request, emergency: broken }, seat.people)) {
    http.log.warn({ accessRequest: id, via: visitor.via }, 'a request was kept from a visitor who may not read it');
    throw noSuchRequest();
  }
  return { request, seat, broken };
}

/** The reader as the store filters by it. */
export const readerRowOf = (seat: Seat): ReaderRow =>
  readerRow({ ...readerOf(seat), chain: seat.visitor.chain, actors: seat.visitor.actors }, seat.people);

const readerOf = ({ visitor, delegations, mayBreakGlass }: Seat): Reader => ({
  self: visitor,
  standsInFor: delegations.map(({ delegator }) => delegator),
  isPerson: visitor.via !== 'agent',
  mayBreakGlass,
});

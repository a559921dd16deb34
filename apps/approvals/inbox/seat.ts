import { isEnded, type Approver } from '../../../workflows/domain/access-request/access-request.ts';
import { ineligibilityOf, type Ineligibility } from '../../../workflows/domain/access-request/eligibility.ts';
import { partIn } from '../../../workflows/domain/access-request/parties.ts';
import { earlierVote } from '../../../workflows/domain/access-request/quorum.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';
import type { BrokenGlass } from '../stores/break-glass.store.ts';
import type { Delegation } from '../stores/delegation.store.ts';
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

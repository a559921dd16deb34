import type { Logger } from 'pino';
import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { mayRead, type Reader } from '../../../workflows/domain/access-request/readers.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import type { BreakGlass } from '../break-glass.ts';
import { noSuchRequest } from '../cast-vote.ts';
import { readerRow, type ReaderRow } from '../listing.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { BreakGlassStore, BrokenGlass } from '../stores/break-glass.store.ts';
import type { DelegationStore } from '../stores/delegation.store.ts';
import type { Voter } from './authenticate.ts';
import type { Seat } from './seat.ts';

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
export interface Reading {
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

import { isOwnRequest, isTheirBusiness } from '../../../workflows/domain/access-request/eligibility.ts';
import type { Withdrawal } from '../break-glass.ts';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';
import { delegationsFor, type Reading, readerOf } from './seat.ts';

type Withdrawable = Pick<Reading, 'seat' | 'broken'> & { readonly request: AccessRequestSummary };

/**
 * Whether the visitor may withdraw this request in this way, as far as they are concerned. Its requester ends an open request. Approvers end
 * it by a denial, which counts as the template says. A person who has to do with a request can take its approval back.
 */
export function mayWithdraw(what: Withdrawal, { seat, request, broken }: Withdrawable): boolean {
  if (seat.visitor.via === 'agent') return false;
  if (what === 'cancel') return isOwnRequest(seat.visitor, request.requester);
  const reader = readerOf(seat, delegationsFor(request.id, seat));
  return isTheirBusiness(reader, { ...request, emergency: broken }, seat.people);
}

/** The withdrawal that is there for the visitor now. */
export function withdrawalBy(reading: Withdrawable, now: Date): Withdrawal | undefined {
  const { status, approval } = reading.request;
  const isInForce = approval !== undefined && !approval.revoked && Date.parse(approval.approvedUntil) > now.getTime();
  const what = status === 'pending' ? 'cancel' : isInForce ? 'revoke' : undefined;
  return what !== undefined && mayWithdraw(what, reading) ? what : undefined;
}

import type { Logger } from 'pino';
import type { Approver } from '../../workflows/domain/access-request/access-request.ts';
import { APPROVER_ROLE, type People } from '../../workflows/domain/access-request/eligibility.ts';
import { Refusal } from '../shared/http/refusal.ts';
import { noSuchRequest } from './cast-vote.ts';
import { named } from './named.ts';
import { oneLine } from './one-line.ts';
import type { AccessRequestStore } from './stores/access-request.store.ts';
import type { NewRevocation } from './stores/ending.ts';

/** What can be taken back: an open request, or the approval of one that was approved. */
export const WITHDRAWALS = ['cancel', 'revoke'] as const;
export type Withdrawal = (typeof WITHDRAWALS)[number];

export interface WithdrawalOrder {
  readonly requestId: string;
  readonly person: Approver & { readonly name: string };
  readonly what: Withdrawal;
  readonly reason: string | undefined;
  readonly via: NewRevocation['via'];
}

export type Withdraw = (order: WithdrawalOrder) => Promise<void>;

/**
 * Lets approvers take back: it only ever takes away, so whoever may give an approval may do it, also with a request of
 * their own, and one of them is enough. Throws a `Refusal` when nothing was taken back, now or before.
 * @see ARAP-CAN-12, ARAP-REV-10
 */
export function createWithdraw(deps: {
  store: Pick<AccessRequestStore, 'cancel' | 'revoke'>;
  people: () => People;
  log: Logger;
}): Withdraw {
  const { store, people, log } = deps;
  return async ({ requestId, person, what, reason, via }) => {
    if (!person.roles.includes(APPROVER_ROLE)) throw new Refusal(403, 'You are not an approver', 'Ask one of them.');
    const by = { issuer: person.issuer, subject: person.subject };
    const said = oneLine(reason);
    const outcome =
      what === 'cancel'
        ? await store.cancel(requestId, {
            note: { by: named({ ...by, name: person.name }, people()), via, reason: said },
          })
        : await store.revoke({ requestId, by, reason: said, via });
    log.info({ accessRequest: requestId, what, via, outcome }, 'somebody took a request or its approval back');
    if (outcome === 'not_found') throw noSuchRequest();
    if (outcome === 'final') throw final(what, requestId);
  };
}

function final(what: Withdrawal, requestId: string): Refusal {
  const link = { href: `/requests/${encodeURIComponent(requestId)}`, label: 'Open the request' };
  return what === 'cancel'
    ? new Refusal(409, 'This request has ended', 'Nothing was changed. An approval can be revoked instead.', link)
    : new Refusal(409, 'There is no approval to revoke', 'Nothing was changed: none was given, or it is over.', link);
}

import type { Logger } from 'pino';
import type { Approver } from '../../workflows/domain/access-request/access-request.ts';
import { APPROVER_ROLE, belongsTo, type People } from '../../workflows/domain/access-request/eligibility.ts';
import type { Config } from '../shared/config/config.ts';
import { Refusal } from '../shared/http/csrf.ts';
import { randomText } from '../shared/crypto.ts';
import { singleLine } from './access-requests/problem.ts';
import { type CastOutcome, linkTo, named, noSuchRequest } from './cast-vote.ts';
import type { AccessRequestStore } from './stores/access-request.store.ts';
import type { BreakGlassStore } from './stores/break-glass.store.ts';
import type { Ballot, NewRevocation } from './stores/new-rows.ts';

interface Own {
  readonly people: () => People;
  readonly log: Logger;
}

interface BreakGlassOptions extends Own {
  readonly settings: Config['approvals']['breakGlass'];
  readonly store: BreakGlassStore;
}

export type BreakGlass = ReturnType<typeof createBreakGlass>;

/** Emergency grants without the stages. Off unless configured (ARAP-APV-04). */
export function createBreakGlass({ settings, store, people, log }: BreakGlassOptions) {
  const { enabled, approvalTtlSeconds, approvers } = settings;
  const electorate = { ...approvers, requesterManager: false };
  /** Whether a person may break glass at all. The database checks for each request that they are no party to it. */
  const mayBreak = (approver: Approver): boolean =>
    enabled && belongsTo(electorate, approver, { asked: { requester: { subject: '' } }, people: people() });
  return {
    mayBreak,

    /** Grants a request at once. `reason_missing`: the reason is required. */
    async grant(
      ballot: Pick<Ballot, 'requestId' | 'approver' | 'reason' | 'callDigest' | 'generation' | 'via' | 'chain'>,
    ) {
      const outcome = await decide(ballot);
      const facts = { accessRequest: ballot.requestId, via: ballot.via, outcome };
      if (outcome === 'counted')
        log.error({ ...facts, alarm: 'break_glass' }, 'a request was granted without its approvers');
      else log.warn(facts, 'an emergency grant was refused');
      return outcome;
    },
  };

  async function decide(ballot: Parameters<BreakGlass['grant']>[0]): Promise<CastOutcome | 'reason_missing'> {
    if (!mayBreak(ballot.approver)) return 'not_eligible';
    const reason = singleLine(ballot.reason);
    if (reason === undefined) return 'reason_missing';
    const approver = named(ballot.approver, people());
    const vote = { ...ballot, approver, reason, verdict: 'approve', approvalId: `apr_${randomText(16)}` } as const;
    return store.breakGlass(vote, approvalTtlSeconds * 1_000);
  }
}

/** `cancel` ends an open request; `revoke` takes an approval back. */
export const WITHDRAWALS = ['cancel', 'revoke'] as const;
export type Withdrawal = (typeof WITHDRAWALS)[number];

interface WithdrawOptions extends Own {
  readonly store: Pick<AccessRequestStore, 'cancel' | 'revoke'>;
}

interface WithdrawalOrder {
  readonly requestId: string;
  readonly person: Approver & { readonly name: string };
  readonly what: Withdrawal;
  readonly reason: string | undefined;
  readonly via: NewRevocation['via'];
}

export type Withdraw = ReturnType<typeof createWithdraw>;

/**
 * Cancels a request for its requester, or revokes its approval for a person who has to do with it. The caller has judged that they may
 * (`mayWithdraw`). Both only take permission away, so one person is enough. Throws a `Refusal` when there was nothing to withdraw.
 * @see ARAP-CAN-12, ARAP-REV-10
 */
export function createWithdraw({ store, people, log }: WithdrawOptions) {
  return async ({ requestId, person, what, reason, via }: WithdrawalOrder): Promise<void> => {
    if (!person.roles.includes(APPROVER_ROLE))
      throw new Refusal(403, 'You are not an approver', 'Ask an approver to do this.');
    const by = { issuer: person.issuer, subject: person.subject };
    const said = singleLine(reason);
    const outcome =
      what === 'cancel'
        ? await store.cancel(requestId, {
            note: { by: named({ ...by, name: person.name }, people()), via, reason: said },
          })
        : await store.revoke({ requestId, by, reason: said, via });
    log.info({ accessRequest: requestId, what, via, outcome }, 'a request was cancelled or its approval revoked');
    if (outcome === 'not_found') throw noSuchRequest();
    if (outcome === 'final') throw final(what, requestId);
  };
}

function final(what: Withdrawal, requestId: string): Refusal {
  const link = linkTo(requestId);
  return what === 'cancel'
    ? new Refusal(409, 'This request has ended', 'Nothing was changed. An approval can be revoked instead.', link)
    : new Refusal(
        409,
        'There is no approval to revoke',
        'Nothing was changed: the request was not approved, or the approval has expired.',
        link,
      );
}

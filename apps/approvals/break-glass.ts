import type { Logger } from 'pino';
import { belongsTo, type People } from '../../workflows/domain/access-request/eligibility.ts';
import type { Approver } from '../../workflows/domain/access-request/access-request.ts';
import type { Config } from '../shared/config/config.ts';
import { randomText } from '../shared/random-text.ts';
import type { Ballot, CastOutcome } from './cast-vote.ts';
import { named } from './named.ts';
import { oneLine } from './one-line.ts';
import type { BreakGlassStore } from './stores/break-glass.store.ts';

export interface BreakGlassOptions {
  readonly settings: Config['approvals']['breakGlass'];
  readonly store: BreakGlassStore;
  readonly people: () => People;
  readonly log: Logger;
}

export type BreakGlass = ReturnType<typeof createBreakGlass>;

/** The way past the stages, for the few who may go it. Off unless the configuration says otherwise (ARAP-APV-04). */
export function createBreakGlass({ settings, store, people, log }: BreakGlassOptions) {
  const { enabled, approvalTtlSeconds, approvers } = settings;
  const electorate = { ...approvers, requesterManager: false };
  /** Whether somebody may break glass at all; that they are no party to the request is looked at for each. */
  const mayBreak = (approver: Approver): boolean =>
    enabled && belongsTo(electorate, approver, { asked: { requester: { subject: '' } }, people: people() });
  return {
    mayBreak,

    /** Grants a request at once. `reason_missing`: nobody does so without saying why. */
    async grant(
      ballot: Pick<Ballot, 'requestId' | 'approver' | 'reason' | 'callDigest' | 'generation' | 'via' | 'chain'>,
    ) {
      const outcome = await decide(ballot);
      const facts = { accessRequest: ballot.requestId, via: ballot.via, outcome };
      if (outcome === 'counted')
        log.error({ ...facts, alarm: 'break_glass' }, 'a request was granted past its approvers');
      else log.warn(facts, 'a request was not granted past its approvers');
      return outcome;
    },
  };

  async function decide(ballot: Parameters<BreakGlass['grant']>[0]): Promise<CastOutcome | 'reason_missing'> {
    if (!mayBreak(ballot.approver)) return 'not_eligible';
    const reason = oneLine(ballot.reason);
    if (reason === undefined) return 'reason_missing';
    const approver = named(ballot.approver, people());
    const vote = { ...ballot, approver, reason, verdict: 'approve', approvalId: `apr_${randomText(16)}` } as const;
    return store.breakGlass(vote, approvalTtlSeconds * 1_000);
  }
}

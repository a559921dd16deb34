import type { Vote } from './access-request.ts';

/** Approvals given and still missing. Each approver counts once, however many votes carry their name. */
export function tally(votes: readonly Pick<Vote, 'approver' | 'verdict'>[], quorum: number) {
  const approvers = new Set(
    votes
      .filter((vote) => vote.verdict === 'approve')
      .map(({ approver }) => JSON.stringify([approver.issuer, approver.subject])),
  );
  return { approvals: approvers.size, missing: Math.max(0, quorum - approvers.size) };
}

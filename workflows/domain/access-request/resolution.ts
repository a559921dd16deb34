import type { Vote } from './access-request.ts';
import { tally } from './quorum.ts';

/**
 * What the votes make of an access request: one denial denies it, as many approvals as the quorum grant it, and
 * anything less leaves it open (undefined).
 */
export function resolutionOf(
  votes: readonly Pick<Vote, 'approver' | 'verdict'>[],
  quorum: number,
): 'granted' | 'denied' | undefined {
  if (votes.some((vote) => vote.verdict === 'deny')) return 'denied';
  return tally(votes, quorum).missing === 0 ? 'granted' : undefined;
}

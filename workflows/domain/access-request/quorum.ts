import type { AccessRequest, Vote } from './access-request.ts';
import { openStage } from './stages.ts';

/** A vote as far as counting needs it. */
export type Counted = Pick<Vote, 'verdict' | 'stage'> & { readonly approver: { readonly subject: string } };

export type Tallied = Pick<AccessRequest, 'stages' | 'stage'> & { readonly votes: readonly Counted[] };

/**
 * Approvals given and still missing in the stage that is open. Each person counts once, however many votes carry their
 * name and however their issuer is spelled; those who lapsed not at all.
 */
export function tally(request: Tallied, lapsed: readonly string[] = []) {
  const approvers = new Set(
    request.votes
      .filter(({ stage, verdict }) => stage === request.stage && verdict === 'approve')
      .map(({ approver }) => approver.subject)
      .filter((subject) => !lapsed.includes(subject)),
  );
  return { approvals: approvers.size, missing: Math.max(0, openStage(request).quorum - approvers.size) };
}

/**
 * The vote that keeps somebody from voting again: any of theirs where a person counts in one stage only, else theirs in the
 * named stage. Whoever names none has voted when they ever did, so that a retry is no vote in the next stage.
 */
export function earlierVote<V extends Counted>(
  { votes, separateStages }: { readonly votes: readonly V[]; readonly separateStages: boolean },
  subject: string,
  stage?: number,
): V | undefined {
  const theirs = votes.filter(
    (vote) => vote.approver.subject === subject && (separateStages || (stage ?? vote.stage) === vote.stage),
  );
  return theirs.at(-1);
}

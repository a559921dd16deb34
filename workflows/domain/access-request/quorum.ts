import type { AccessRequest, Vote } from './access-request.ts';
import { openStage } from './stages.ts';

/** A vote as far as counting needs it. */
export type Counted = Pick<Vote, 'verdict' | 'stage'> & {
  readonly approver: { readonly subject: string };
  readonly castBy?: string;
};

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
 * The vote that keeps somebody from voting again, whether they spoke or were spoken for: any of theirs where a person counts in
 * one stage only, else theirs in the named stage. For a vote in another's place that is both persons' (`castBy`). Whoever names none has voted when they ever did, so that a retry is no vote in the next stage.
 */
export function earlierVote<V extends Counted>(
  { votes, separateStages }: { readonly votes: readonly V[]; readonly separateStages: boolean },
  { subject, castBy = subject }: { readonly subject: string; readonly castBy?: string | undefined },
  stage?: number,
): V | undefined {
  const theirs = votes.filter(
    (vote) =>
      [vote.approver.subject, vote.castBy].some((one) => one === subject || one === castBy) &&
      (separateStages || (stage ?? vote.stage) === vote.stage),
  );
  return theirs.at(-1);
}

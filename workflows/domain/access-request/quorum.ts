import type { AccessRequest, Vote } from './access-request.ts';
import { isOnePerson, type Voices, voiceNames } from './same-person.ts';
import { type Next, nextStage, openStage } from './stages.ts';

/** A vote as far as counting needs it. */
export type Counted = Pick<Vote, 'verdict' | 'stage'> & {
  readonly approver: { readonly subject: string };
  readonly castBy?: string;
  readonly actors?: readonly string[];
  readonly names?: readonly string[];
};

export type Tallied = Pick<AccessRequest, 'stages' | 'stage'> & { readonly votes: readonly Counted[] };

/** All names of those who have a voice in a vote. */
const namesIn = ({ approver: { subject }, names = [], ...vote }: Counted): string[] =>
  voiceNames({ subject, aliases: names, ...vote });

/**
 * Approvals given and still missing in the open stage. Each person counts once, however many votes carry a name of theirs and however
 * their issuer is spelled. A lapsed approval does not count.
 */
export function tally(request: Tallied, lapsed: readonly string[] = []) {
  const given = request.votes
    .filter(({ stage, verdict }) => stage === request.stage && verdict === 'approve')
    .filter(({ approver }) => !lapsed.includes(approver.subject))
    .map(namesIn);
  const people = given.filter((names, at) => !given.slice(0, at).some((earlier) => isOnePerson(earlier, names)));
  return { approvals: people.length, missing: Math.max(0, openStage(request).quorum - people.length) };
}

/**
 * The vote that keeps a voter from voting again: any of theirs where a person counts in one stage only, else theirs in the named
 * stage. A vote belongs to everyone who has a voice in it, by all their names: the approver, the person who votes in their place (`castBy`),
 * and each subject that acts for the voter by the token (`actors`). A voter who names no stage has voted when they ever did, so that a retry
 * is no vote in the next stage.
 */
export function earlierVote<V extends Counted>(
  { votes, separateStages }: { readonly votes: readonly V[]; readonly separateStages: boolean },
  voter: Voices,
  stage?: number,
): V | undefined {
  const voices = voiceNames(voter);
  const theirs = votes.filter(
    (vote) => (separateStages || (stage ?? vote.stage) === vote.stage) && isOnePerson(namesIn(vote), voices),
  );
  return theirs.at(-1);
}

export interface DirectoryFacts {
  /** Subjects whose approval no longer counts. */
  readonly lapsed?: readonly string[];
  /** Subjects that can decide the open stage; undefined where they cannot be listed. */
  readonly electorate?: ReadonlySet<string> | undefined;
}

/**
 * The result of the votes in the open stage: the next stage (counted from 1) or the end of the request, and undefined when the
 * stage stays open. Where there is a veto, one denial denies. Otherwise the request is denied once too few people are left who
 * could still approve; these have to be known, so such a stage is for no role.
 */
export function resolutionOf(
  request: Tallied & { readonly separateStages: boolean },
  { lapsed = [], electorate }: DirectoryFacts = {},
): Next | undefined {
  const { stages, stage, votes, separateStages } = request;
  const isDenied = votes.some((vote) => vote.stage === stage && vote.verdict === 'deny');
  if (isDenied && openStage(request).veto) return 'denied';
  const { missing } = tally(request, lapsed);
  if (missing === 0) return nextStage(stages, stage, 'agreed');
  if (!isDenied || electorate === undefined) return undefined;
  const voted = votes.filter((vote) => separateStages || vote.stage === stage).flatMap(namesIn);
  const left = [...electorate].filter((subject) => !isOnePerson([subject], voted)).length;
  return left < missing ? 'denied' : undefined;
}

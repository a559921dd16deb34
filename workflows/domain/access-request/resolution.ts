import { tally, type Tallied } from './quorum.ts';
import { nextStage, openStage, type Next } from './stages.ts';

/** What the directory knows at the moment of a vote. */
export interface DirectoryFacts {
  /** Subjects whose approval no longer counts. */
  readonly lapsed?: readonly string[];
  /** Subjects that can decide the open stage; undefined where nobody can list them. */
  readonly electorate?: ReadonlySet<string> | undefined;
}

/**
 * What the votes make of the stage that is open: the next stage (counted from 1) or the end of the request, and undefined
 * when it stays open. Where there is a veto one denial denies. Where there is none, the request is denied once too few
 * people are left who could still approve; who those are has to be known, so such a stage is for no role.
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
  const voted = new Set(
    votes.filter((vote) => separateStages || vote.stage === stage).map(({ approver }) => approver.subject),
  );
  const left = [...electorate].filter((subject) => !voted.has(subject)).length;
  return left < missing ? 'denied' : undefined;
}
